"""Several notebooks on one agent: by a TCP port, on which it is killed and started again, or shared, and killed."""

import os
import shlex
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import psutil
import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import open_chat
from copilot_kernel.chat.session_manager import RESTARTED
from copilot_kernel.config import Settings

from ..chat.people import Person
from ..jupyter.front_end import no_settings, until
from ..limits import LIMIT
from ..ports import free_port
from ..processes import has_argument, running
from . import model
from .agents import COPILOT, Agent
from .book import Json, Notebook, opened
from .conftest import played
from .plays import serving

pytestmark = pytest.mark.real_agent


def listening(agent: Agent) -> Json:
    port, found = free_port(), Json()
    with ExitStack() as stack:
        scripted = stack.enter_context(model.running())
        env = agent.configure(Path(os.environ["HOME"]), scripted.url)
        server = partial(serving, [agent.command()[0], *agent.listen, str(port)], port, env)
        with server():
            ours = {"COPILOT_KERNEL_AGENT": f"tcp://127.0.0.1:{port}"}
            books = [stack.enter_context(opened(agent, scripted, name, **ours)) for name in ("left", "right")]
            found["recalls"] = _recalls(books)
            found["sessions"] = [book.status("Session") for book in books]
        until(lambda: all(book.has_no_agent() for book in books), "the kernels see that the agent is gone")
        cells = [book.begin({"recall": True}) for book in books]
        for book, cell in zip(books, cells, strict=True):
            book.front_end.shows("No agent answers", cell)
        with server():
            found["back"] = [book.end(cell) for book, cell in zip(books, cells, strict=True)]
            found["sessions after"] = [book.status("Session") for book in books]
    return found


def _recalls(books: list[Notebook]) -> list[Json]:
    """What each remembers, after a note of its own."""
    notes = [book.ask({"say": "Noted."}, note=f"of {book.project.parent.name}") for book in books]
    assert [seen["status"] for seen in notes] == ["ok"] * len(books)
    return [book.ask({"recall": True}) for book in books]


def sharing(agent: Agent) -> Json:
    """Three notebooks, of which a kernel is killed, then the agent."""
    home, found = Path(os.environ["HOME"]), Json()
    with ExitStack() as stack:
        scripted = stack.enter_context(model.running())
        common = {"COPILOT_KERNEL_AGENT_SHARING": "user", "COPILOT_KERNEL_CWD": str(home)}
        common |= {**no_settings(home), "JUPYTER_RUNTIME_DIR": str(home / "run")}
        books = [stack.enter_context(opened(agent, scripted, name, **common)) for name in ("left", "right", "last")]
        last = books[-1]
        _recalls(books)
        found["agents"], found["others"] = len(_agents(agent)), last.status("Agent process")
        books.pop().front_end.process.kill()
        until(lambda: books[0].status("Agent process") == "shared with 1 other notebook", "the killed kernel has left")
        found["recalls"] = [book.ask({"recall": True}) for book in books]
        for process in _agents(agent):
            process.kill()
        until(lambda: all(book.has_no_agent() for book in books), "the kernels see that the agent is gone")
        found["back"] = [book.ask({"recall": True}) for book in books]
        found["agents after"] = len(_agents(agent))
    return found


def apart(agent: Agent) -> Json:
    """How many questions each of two conversations on one agent asks, once the first has allowed more."""
    with model.running() as scripted:
        os.environ |= {"JUPYTER_RUNTIME_DIR": str(Path.home() / "run"), **agent.configure(Path.home(), scripted.url)}
        return anyio.run(_allowing, agent)


async def _allowing(agent: Agent) -> Json:
    project = Path.home() / "project"
    project.mkdir()
    settings = Settings(shlex.join(agent.command()), str(project), state=str(Path.home() / "kept"))
    settings = replace(settings, agent_sharing="user", start_timeout=LIMIT)

    async def questions(kind: str, file: str) -> list[int]:
        people, prompt = (Person(kind), Person()), agent.prompt(project, {"call": [("shell", f"touch {file}")]})
        for chat, person in zip((left, right), people, strict=True):
            await chat.ask([TextBlock(prompt)], person)
        return [len(person.questions) for person in people]

    async with open_chat(settings) as left, open_chat(settings) as right:
        found = {"first": await questions("allow_always", "one"), "always": await questions("allow_once", "one")}
        await left.options.set_option(*agent.option.split())
        return {**found, "everything": await questions("allow_once", "two"), "with": right.agent.sharing_state}


def _agents(agent: Agent) -> list[psutil.Process]:
    """Processes that are the agent, without those that it started."""
    found = running(has_argument(agent.arguments[-1]))
    return running(lambda process: process.ppid() not in {other.pid for other in found}, found)


# -- tests ----------------------------------------------------------------------------------------------------


def remembered(found: list[Json]) -> list[tuple[str, str]]:
    """How each cell ended, and its line about notes."""
    lines = [[line for line in each["text"].splitlines() if line.startswith("I remember")] for each in found]
    return [(each["status"], *words) for each, words in zip(found, lines, strict=True)]


EACH_ITS_OWN = [("ok", "I remember: of left"), ("ok", "I remember: of right")]


@played("test_several.listening", COPILOT)
def test_each_notebook_has_a_session_of_its_own(seen: Json) -> None:
    assert remembered(seen["recalls"]) == EACH_ITS_OWN
    assert len({"", *seen["sessions"]}) == 3


@played("test_several.listening", COPILOT)
def test_both_go_on_when_the_agent_comes_back(seen: Json) -> None:
    assert remembered(seen["back"]) == EACH_ITS_OWN
    assert all(RESTARTED in each["text"] for each in seen["back"])
    assert seen["sessions after"] == seen["sessions"]


@played("test_several.sharing", COPILOT)
def test_three_notebooks_have_one_process(seen: Json) -> None:
    assert (seen["agents"], seen["others"]) == (1, "shared with 2 other notebooks")


@played("test_several.sharing", COPILOT)
def test_a_kernel_that_is_killed_leaves_the_others_their_conversations(seen: Json) -> None:
    assert remembered(seen["recalls"]) == EACH_ITS_OWN


@played("test_several.sharing", COPILOT)
def test_all_go_on_when_the_agent_was_killed_and_again_with_one(seen: Json) -> None:
    assert remembered(seen["back"]) == EACH_ITS_OWN
    assert all(RESTARTED in each["text"] for each in seen["back"])
    assert seen["agents after"] == 1


@played("test_several.apart", COPILOT)
def test_what_the_agent_may_do_in_one_conversation_it_asks_about_in_the_other(seen: Json) -> None:
    questions = {"first": [1, 1], "always": [0, 1], "everything": [0, 1]}
    assert seen == {**questions, "with": "shared with 1 other notebook"}
