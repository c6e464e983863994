"""Three notebooks of one project share an agent, one of whose kernels and which itself are killed meanwhile."""

import os
import shlex
import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ..jupyter.front_end import no_settings, until
from . import model
from .agents import Agent
from .book import Json, Notebook, reading
from .processes import Process, running_here

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
