"""Cells of a notebook, run by our kernel with a real agent inside a namespace: `perform` tells what a reader saw.

The inside half starts model and kernel, runs one cell after the other in one session, and prints its findings as JSON.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..jupyter.front_end import FrontEnd, Outcome, kernel_process
from . import model, namespace
from .agents import AGENTS, Agent
from .model import prompt
from .scenes import NOTES

Json = dict[str, Any]
TURN_LIMIT = 40.0
ARGV = (sys.executable, "-P", "-m", "copilot_kernel", "-f", "{connection_file}")


def perform(agent: Agent, home: Path, cache: Path, seconds: float = 150) -> Json:
    """The findings of each cell by name; raises AssertionError with the inside's last words."""
    inside = [sys.executable, "-m", "tests.real.cells", agent.name]
    done = namespace.run(inside, namespace.environment(home, cache), seconds=seconds)
    assert done.returncode == 0, done.stderr[-4000:]
    findings: Json = json.loads(done.stdout.splitlines()[-1])
    return findings


class Notebook:
    """One kernel with one agent, and the project that both work in."""

    def __init__(self, agent: Agent, front_end: FrontEnd, project: Path) -> None:
        self.agent, self.front_end, self.project = agent, front_end, project

    @property
    def notes(self) -> Path:
        return self.project / "notes.txt"

    def run(self, *steps: Json, note: str = "", click: str = "", stop_at: str = "") -> Json:
        """Run a cell; press the button `click`; interrupt when the cell shows `stop_at`."""
        since = len(self.front_end.published)
        cell = self.front_end.execute(prompt(*steps, note=note))
        if click:
            self.front_end.click(self.front_end.button(click, since))
        if stop_at:
            self.front_end.shows(stop_at, cell)
            self.front_end.manager.interrupt_kernel()
        return self._findings(self.front_end.finish(cell, TURN_LIMIT))

    def _findings(self, outcome: Outcome) -> Json:
        kinds = [sorted(m["content"].get("data", {})) for m in outcome.outputs if m["msg_type"] == "display_data"]
        return {
            "status": outcome.status,
            "error": outcome.reply["content"].get("ename"),
            "text": outcome.text,
            "notes": self.notes.read_text(),
            "kinds": kinds,
        }


Cell = Callable[[Notebook], Json]


def text(book: Notebook) -> Json:
    return book.run({"think": "I look first.", "say": "There are **three lines**."}, note="the colour is blue")


def edit_allowed(book: Notebook) -> Json:
    change = book.agent.edit(book.notes, "two", "TWO")
    steps = ({"call": [book.agent.read(book.notes)]}, {"call": [change]}, {"say": "Changed."})
    return book.run(*steps, click=book.agent.allow)


def edit_rejected(book: Notebook) -> Json:
    change = book.agent.edit(book.notes, "three", "THREE")
    steps = ({"call": [book.agent.read(book.notes)]}, {"call": [change]}, {"say": "Not changed."})
    return book.run(*steps, click=book.agent.reject)


def shell(book: Notebook) -> Json:
    command = book.agent.shell("echo counted; exit 3")
    return book.run({"call": [command]}, {"say": "It ended."}, click=book.agent.allow)


def cancel_text(book: Notebook) -> Json:
    return book.run({"say": "This answer has no end, and so on.", "hang": True}, stop_at="This answer has")


def cancel_shell(book: Notebook) -> Json:
    """For agents that send output while a command runs."""
    command = book.agent.shell("echo begun at $((6 * 7)); sleep 50; echo never")
    steps = ({"call": [command]}, {"say": "Never said."})
    return book.run(*steps, click=book.agent.allow, stop_at="begun at 42")


def cancel_question(book: Notebook) -> Json:
    return book.run({"call": [book.agent.shell("touch never")]}, {"say": "Never said."}, stop_at=book.agent.reject)


def recall(book: Notebook) -> Json:
    return book.run({"recall": True}, note="the number is seven")


CELLS: dict[str, Cell] = {
    "text": text,
    "edit-allowed": edit_allowed,
    "edit-rejected": edit_rejected,
    "shell": shell,
    "cancel-text": cancel_text,
    "cancel-shell": cancel_shell,
    "cancel-question": cancel_question,
    "recall": recall,
}


def running_here() -> list[str]:
    """The names of the processes that run in this namespace; `/proc` shows those outside of it too."""
    here = os.readlink("/proc/self/ns/pid")
    return sorted(name for pid in os.listdir("/proc") if pid.isdigit() and (name := _name(pid, here)))


def _name(pid: str, here: str) -> str:
    try:
        name, _, state = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        return name if os.readlink(f"/proc/{pid}/ns/pid") == here and state.split()[0] != "Z" else ""
    except OSError:
        return ""


@contextmanager
def _notebook(agent: Agent, home: Path) -> Iterator[Notebook]:
    project = home / "work"
    project.mkdir()
    (project / "notes.txt").write_text(NOTES)
    with model.running() as scripted:
        agent_settings = agent.configure(home, scripted.url)
        settings = {**agent_settings, "COPILOT_KERNEL_AGENT": shlex.join(agent.command())}
        with kernel_process(home, settings, ARGV) as front_end:
            yield Notebook(agent, front_end, project)


def main() -> None:
    agent = AGENTS[sys.argv[1]]
    with _notebook(agent, Path(os.environ["HOME"])) as book:
        cells = {name: cell for name, cell in CELLS.items() if name != "cancel-shell" or name in agent.scenes}
        findings = {name: cell(book) for name, cell in cells.items()}
        before = running_here()
        book.front_end.manager.shutdown_kernel()
        findings["programs"] = {"before": before, "after": running_here()}
    print(json.dumps(findings))


if __name__ == "__main__":
    main()
