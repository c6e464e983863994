"""Two notebooks on one agent that listens on a TCP port, which is killed and started again meanwhile."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from ..jupyter.front_end import until
from ..limits import LIMIT
from . import model
from .agents import Agent
from .book import Json, Notebook, reading
from .model import Model

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _server(agent: Agent, port: int, scripted: Model) -> Iterator[None]:
    """The agent until the block ends, by `kill -9`."""
    home = Path(os.environ["HOME"])
    command = [agent.command()[0], *agent.listen, str(port)]
    env = {**os.environ, **agent.configure(home, scripted.url)}
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(command, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True)  # fmt: skip
    try:
        until(lambda: _listens(port), "the agent listens", LIMIT)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)


def _session_ids(books: list[Notebook]) -> list[str]:
    """The id of each notebook's session; "" where there is none."""
    said = ([line.split() for line in book.run("%status")["text"].splitlines()] for book in books)
    return [next((words[1] for words in lines if words[:1] == ["Session"] and len(words) == 2), "") for lines in said]


def _gone(book: Notebook) -> bool:
    return "not running" in book.run("%status")["text"]


def play(agent: Agent) -> Json:
    port = _free_port()
    findings: Json = {}
    with ExitStack() as stack:
        scripted = stack.enter_context(model.running())
        with _server(agent, port, scripted):
            books = [stack.enter_context(reading(agent, name, f"tcp://127.0.0.1:{port}", scripted))
                     for name in ("left", "right")]  # fmt: skip
            findings["notes"] = [book.ask({"say": "Noted."}, note=book.project.parent.name) for book in books]
            findings["recalls"] = [book.ask({"recall": True}) for book in books]
            findings["sessions"] = _session_ids(books)
        for book in books:
            until(partial(_gone, book), "the kernel sees that the agent is gone")
        cells = [book.begin({"recall": True}) for book in books]
        for book, cell in zip(books, cells, strict=True):
            book.front_end.shows("No agent answers", cell)
        with _server(agent, port, scripted):
            findings["back"] = [book.end(cell) for book, cell in zip(books, cells, strict=True)]
            findings["sessions after"] = _session_ids(books)
    return findings


# -- tests ----------------------------------------------------------------------------------------------------


def remembered(seen: list[Json]) -> list[tuple[str, str]]:
    """How each cell ended, and its line about notes."""
    lines = [[line for line in each["text"].splitlines() if line.startswith("I remember")] for each in seen]
    return [(each["status"], *found) for each, found in zip(seen, lines, strict=True)]


EACH_ITS_OWN = [("ok", "I remember: left"), ("ok", "I remember: right")]


def test_each_notebook_has_a_session_of_its_own(listening_agent: Json) -> None:
    assert remembered(listening_agent["recalls"]) == EACH_ITS_OWN
    left, right = listening_agent["sessions"]
    assert left
    assert right
    assert left != right


def test_both_go_on_when_the_agent_comes_back(listening_agent: Json) -> None:
    assert remembered(listening_agent["back"]) == EACH_ITS_OWN
    assert all("continues the conversation" in seen["text"] for seen in listening_agent["back"])
    assert listening_agent["sessions after"] == listening_agent["sessions"]
