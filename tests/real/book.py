"""A notebook with a real agent, both inside a namespace: run cells, press buttons, kill, restart."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from ..jupyter.front_end import FrontEnd, Outcome, kernel_process, until
from ..limits import LIMIT
from ..processes import children, facts
from ..rendering.allowed import text_of
from .agents import NOTES, Agent
from .model import Model

Json = dict[str, Any]
ARGV = (sys.executable, "-P", "-m", "copilot_kernel", "-f", "{connection_file}")
PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
"""The kernel of ipykernel, in whose cells prompts stand below `%%copilot`."""


class Notebook:
    """One notebook with one agent, the project that both work in, and the model that the agent asks."""

    def __init__(self, agent: Agent, front_end: FrontEnd, project: Path, scripted: Model, is_python: bool) -> None:
        self.agent, self.front_end, self.project, self.scripted = agent, front_end, project, scripted
        self._begun, self._is_python = 0, is_python

    @property
    def notes(self) -> Path:
        return self.project / "notes.txt"

    def ask(self, *steps: Json, click: str = "", stop_at: str = "", **more: str) -> Json:
        """Run a prompt; press the button `click`; interrupt when `stop_at` is shown. See `begin`.

        `before` is what stood in the notes when there was a button.
        """
        since, before = len(self.front_end.published), ""
        cell = self.begin(*steps, **more)
        if click:
            button, before = self.front_end.button(click, since), self.notes.read_text()
            self.front_end.click(button)
        if stop_at:
            self.front_end.shows(stop_at, cell)
            self.front_end.manager.interrupt_kernel()
        return {**self.end(cell), "before": before}

    def begin(self, *steps: Json, note: str = "", above: str = "", words: str = "Go on.") -> str:
        """Send a prompt, lines of commands `above` it; the cell, for `end`."""
        self._begun = len(self.scripted.requests)
        text = self.agent.prompt(self.project, *steps, note=note, words=words)
        if self._is_python:
            above = "%%copilot\n"
        return self.front_end.execute(above + text)

    def end(self, cell: str) -> Json:
        """Wait for a cell's end; what was seen in it."""
        return self._seen(self.front_end.finish(cell, LIMIT))

    def run(self, code: str, live: bool = True) -> Json:
        """Run any other cell, for somebody who has no widgets, or (not `live`) for nobody."""
        self._begun = len(self.scripted.requests)
        return self._seen(self.front_end.run(code, LIMIT, cell_id=None, live=live))

    def status(self, name: str) -> str:
        """What `%status` says after this name."""
        lines = self.run("%status")["text"].splitlines()
        return next((line.removeprefix(name).strip() for line in lines if line.startswith(name)), "")

    def has_no_agent(self) -> bool:
        """The kernel has seen that it is gone."""
        return "not running" in self.run("%status")["text"]

    def told(self, words: str) -> bool:
        """Did the model hear these words since the last cell began?"""
        return any(words in path + json.dumps(body) for path, body in self.scripted.requests[self._begun :])

    def kill_agent(self) -> list[str]:
        """`kill -9` with all that it has started, until the kernel has seen it; the names of what was killed."""

        def kill(process: psutil.Process) -> str:
            name = process.name()
            process.kill()
            return name

        killed = facts(kill, children(self.front_end.process.pid))
        until(self.has_no_agent, "the kernel sees that the agent is gone")
        return sorted(killed)

    def restart_kernel(self) -> None:
        """As its button in JupyterLab does."""
        self.front_end.manager.restart_kernel()
        self.front_end.client.wait_for_ready(timeout=LIMIT)

    def _seen(self, outcome: Outcome) -> Json:
        """What a reader of the cell saw."""
        shown = [m["content"].get("data", {}) for m in outcome.outputs if m["msg_type"] == "display_data"]
        return {
            "status": outcome.status,
            "error": outcome.reply["content"].get("ename"),
            "text": outcome.text,
            "shown": text_of(outcome.html),
            "html": "".join(m["content"].get("data", {}).get("text/html", "") for m in outcome.outputs),
            "notes": self.notes.read_text(),
            "kinds": [sorted(data) for data in shown],
        }


@contextmanager
def opened(
    agent: Agent, scripted: Model, folder: str = ".", argv: tuple[str, ...] = ARGV, **settings: str
) -> Iterator[Notebook]:
    """A notebook in a folder of the home, on the kernel that `argv` starts; `settings` are more of the kernel's."""
    home = Path(os.environ["HOME"], folder)
    project = home / "work"
    project.mkdir(parents=True)
    (project / "notes.txt").write_text(NOTES)
    (project / "chat.ipynb").write_text("{}")
    ours = {**agent.settings(Path(os.environ["HOME"]), scripted.url), "JPY_SESSION_NAME": str(project / "chat.ipynb")}
    with kernel_process(home, {**ours, **settings}, argv) as front_end:
        yield Notebook(agent, front_end, project, scripted, argv is PYTHON)


def running_here() -> list[str]:
    """The names of this namespace's processes, without the ended ones."""
    return sorted(facts(psutil.Process.name))
