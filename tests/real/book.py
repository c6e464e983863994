"""A notebook on our kernel with a real agent, both inside a namespace: run cells, press buttons, kill, restart."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..jupyter.front_end import FrontEnd, Outcome, kernel_process, until
from ..limits import LIMIT
from ..rendering.allowed import text_of
from . import model
from .agents import Agent
from .model import Model, prompt
from .processes import kill_below
from .scenes import NOTES

Json = dict[str, Any]
ARGV = (sys.executable, "-P", "-m", "copilot_kernel", "-f", "{connection_file}")


class Notebook:
    """One notebook with one agent, the project that both work in, and the model that the agent asks."""

    def __init__(self, agent: Agent, front_end: FrontEnd, project: Path, scripted: Model) -> None:
        self.agent, self.front_end, self.project, self.scripted = agent, front_end, project, scripted
        self._begun = 0

    @property
    def notes(self) -> Path:
        return self.project / "notes.txt"

    def ask(
        self, *steps: Json, note: str = "", click: str = "", stop_at: str = "", above: str = "", words: str = "Go on."
    ) -> Json:
        """Run a prompt, lines of commands `above` it; press the button `click`; interrupt when `stop_at` is shown."""
        since = len(self.front_end.published)
        cell = self.begin(*steps, note=note, above=above, words=words)
        if click:
            self.front_end.click(self.front_end.button(click, since))
        if stop_at:
            self.front_end.shows(stop_at, cell)
            self.front_end.manager.interrupt_kernel()
        return self.end(cell)

    def begin(self, *steps: Json, note: str = "", above: str = "", words: str = "Go on.") -> str:
        """Send a prompt; the cell, for `end`."""
        self._begun = len(self.scripted.requests)
        return self.front_end.execute(above + prompt(*steps, note=note, words=words))

    def end(self, cell: str) -> Json:
        """Wait for a cell's end; what was seen in it."""
        return self.seen(self.front_end.finish(cell, LIMIT))

    def run(self, code: str, live: bool = True) -> Json:
        """Run any other cell, for somebody who has no widgets, or (not `live`) for nobody."""
        self._begun = len(self.scripted.requests)
        return self.seen(self.front_end.run(code, LIMIT, cell_id=None, live=live))

    def told(self, words: str) -> bool:
        """Did the model hear these words since the last cell began?"""
        return any(words in path + json.dumps(body) for path, body in self.scripted.requests[self._begun :])

    def offered(self, code: str) -> list[str]:
        """What Tab offers at the end of this code."""
        matches: list[str] = self.front_end.ask("complete_request", {"code": code, "cursor_pos": len(code)})["matches"]
        return matches

    def kill_agent(self) -> list[str]:
        """`kill -9`, until the kernel has seen it; the names of what was killed."""
        killed = kill_below(self.front_end.manager.provisioner.pid)
        until(lambda: "not running" in self.run("%status")["text"], "the kernel sees that the agent is gone")
        return killed

    def restart_kernel(self) -> None:
        """As its button in JupyterLab does."""
        self.front_end.manager.restart_kernel()
        self.front_end.client.wait_for_ready(timeout=LIMIT)

    def seen(self, outcome: Outcome) -> Json:
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


Cell = Callable[[Notebook], Json]


@contextmanager
def opened(agent: Agent, argv: tuple[str, ...] = ARGV, **settings: str) -> Iterator[Notebook]:
    """A notebook in the home of this namespace, with its agent and a model; `settings` are more of the kernel's."""
    home = Path(os.environ["HOME"])
    with model.running() as scripted:
        settings |= agent.configure(home, scripted.url)
        with reading(agent, ".", shlex.join(agent.command()), scripted, argv, **settings) as book:
            yield book


@contextmanager
def reading(
    agent: Agent, folder: str, command: str, scripted: Model, argv: tuple[str, ...] = ARGV, **settings: str
) -> Iterator[Notebook]:
    """A notebook in a folder of the home, whose setting `agent` is `command`, on the kernel that `argv` starts."""
    home = Path(os.environ["HOME"], folder)
    project = home / "work"
    project.mkdir(parents=True)
    (project / "notes.txt").write_text(NOTES)
    (project / "chat.ipynb").write_text("{}")
    ours = {"COPILOT_KERNEL_AGENT": command, "JPY_SESSION_NAME": str(project / "chat.ipynb")}
    with kernel_process(home, {**ours, **settings}, argv) as front_end:
        yield Notebook(agent, front_end, project, scripted)
