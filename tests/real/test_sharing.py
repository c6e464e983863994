"""Three notebooks of one project share an agent, one of whose kernels and which itself are killed meanwhile."""

import os
import shlex
import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from ..jupyter.front_end import no_settings, until
from . import model
from .agents import Agent
from .book import Json, Notebook, reading
from .processes import Process, running_here

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]

NAMES = ("left", "middle", "right")


def _agents(agent: Agent) -> list[Process]:
    """Processes of this namespace that are the agent, without those that it started."""
    found = [each for each in running_here() if agent.arguments[-1].encode() in _words(each)]
    return [each for each in found if each.parent not in {other.outer for other in found}]


def _words(process: Process) -> list[bytes]:
    try:
        return Path(f"/proc/{process.outer}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _others(book: Notebook) -> str:
    lines = [line.split(maxsplit=2) for line in book.run("%status")["text"].splitlines()]
    return next((words[2] for words in lines if words[:2] == ["Agent", "process"]), "")


def play(agent: Agent) -> Json:
    home = Path(os.environ["HOME"])
    findings: Json = {}
    with ExitStack() as stack:
        scripted = stack.enter_context(model.running())
        common = {**no_settings(home), **agent.configure(home, scripted.url), "JUPYTER_RUNTIME_DIR": str(home / "run")}
        common |= {"COPILOT_KERNEL_AGENT_SHARING": "user", "COPILOT_KERNEL_CWD": str(home)}
        command = shlex.join(agent.command())
        *books, left = (stack.enter_context(reading(agent, name, command, scripted, **common)) for name in NAMES)
        findings["notes"] = [book.ask({"say": "Noted."}, note=f"of {at}") for at, book in enumerate((*books, left))]
        findings["agents"] = len(_agents(agent))
        findings["others"] = _others(left)
        os.kill(left.front_end.manager.provisioner.pid, signal.SIGKILL)
        until(lambda: _others(books[0]) == "shared with 1 other notebook", "the killed kernel has left")
        findings["recalls"] = [book.ask({"recall": True}) for book in books]
        for process in _agents(agent):
            os.kill(process.pid, signal.SIGKILL)
        until(partial(_is_gone, books), "the kernels see that the agent is gone")
        findings["back"] = [book.ask({"recall": True}) for book in books]
        findings["agents after"] = len(_agents(agent))
    return findings


def _is_gone(books: list[Notebook]) -> bool:
    return all("not running" in book.run("%status")["text"] for book in books)


# -- tests ----------------------------------------------------------------------------------------------------


def remembered(seen: list[Json]) -> list[tuple[str, str]]:
    """How each cell ended, and its line about notes."""
    lines = [[line for line in each["text"].splitlines() if line.startswith("I remember")] for each in seen]
    return [(each["status"], *found) for each, found in zip(seen, lines, strict=True)]


EACH_ITS_OWN = [("ok", "I remember: of 0"), ("ok", "I remember: of 1")]


def test_three_notebooks_have_one_process_and_each_its_own_conversation(shared_agent: Json) -> None:
    assert [seen["status"] for seen in shared_agent["notes"]] == ["ok"] * 3
    assert (shared_agent["agents"], shared_agent["others"]) == (1, "shared with 2 other notebooks")


def test_a_kernel_that_is_killed_leaves_the_others_theirs(shared_agent: Json) -> None:
    assert remembered(shared_agent["recalls"]) == EACH_ITS_OWN


def test_all_go_on_when_the_agent_was_killed_and_again_with_one(shared_agent: Json) -> None:
    assert remembered(shared_agent["back"]) == EACH_ITS_OWN
    assert all("continues the conversation" in seen["text"] for seen in shared_agent["back"])
    assert shared_agent["agents after"] == 1
