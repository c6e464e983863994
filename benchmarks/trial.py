"""Notebooks on real kernels with the fault agent, their cells, and the invariants that were broken."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from random import Random
from typing import Any
from uuid import uuid4

import psutil

from tests.jupyter.front_end import OPTIONS, FrontEnd, Outcome, is_status, kernel_process, parent, until
from tests.processes import facts, is_alive, running

from .journal import Journal

AGENT = Path(__file__).with_name("fault_agent.py")
KERNEL = (sys.executable, "-P", str(Path(__file__).with_name("probed_kernel.py")), *OPTIONS)
MARK = "BENCHMARK_MARK"
"""An environment variable, by which the processes of a project are found wherever they are."""
GRACE = 0.5
"""Seconds of `COPILOT_KERNEL_CANCEL_GRACE`, where nothing else is set."""
IDLE = 2.0
"""Seconds after the last notebook, in which a broker and its agent end."""
LIMIT = 60.0
"""Seconds that only a hang takes."""
MAX_MORE = 2
"""Tasks, threads and descriptors that a kernel may have at the end and not after its first turn."""


@dataclass
class Trial:
    """Rounds of scenarios. `seed` repeats what they draw."""

    seed: int
    broken: list[str] = field(default_factory=list)
    slowest: float = 0.0
    megabytes: float = 0.0
    """Of a kernel at its end."""
    _round: str = ""

    def rounds(self, name: str, count: int) -> Iterator[tuple[int, Random]]:
        """The number of each round, and what it draws from."""
        for number in range(count):
            self._round = f"{name}, round {number}"
            yield number, Random(f"{self.seed} {name} {number}")

    def check(self, took: float, what: str, *problems: Iterable[str]) -> None:
        """Note the problems of this round, and how long its reply took."""
        self.slowest = max(self.slowest, took)
        self.broken += [f"{self._round}, {what}: {each}" for problem in problems for each in problem]


class Project:
    """A folder with the agents' journal and a notebook for each name; several notebooks share an agent."""

    def __init__(self, root: Path, names: tuple[str, ...], argv: tuple[str, ...] = KERNEL, **environ: str) -> None:
        self.root, self.argv, self._mark = root, argv, uuid4().hex
        self.environ = {
            MARK: self._mark,
            **{name: str(root / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")},
            "JUPYTER_RUNTIME_DIR": str(root / "run"),
            "COPILOT_KERNEL_AGENT": "demo",  # which starts early, as a command would not
            "COPILOT_KERNEL_DEMO_COMMAND": shlex.join([sys.executable, "-I", "-S", str(AGENT), str(root)]),
            "COPILOT_KERNEL_AGENT_SHARING": "user" if len(names) > 1 else "off",
            "COPILOT_KERNEL_CANCEL_GRACE": str(GRACE),
            "COPILOT_KERNEL_CWD": str(root / "work"),
            "COPILOT_KERNEL_FS": "on",
            "COPILOT_KERNEL_STATE": str(root / "state"),
            "BENCHMARK_PROBE": str(root / "probe.json"),
            "BENCHMARK_CLOCK": str(root / "clock"),
            "BENCHMARK_IDLE": str(IDLE),
            **environ,
        }
        (root / "work").mkdir()
        (root / "work" / "notes.txt").write_text("notes\n")
        self.notebooks = [Notebook(self, name) for name in names]

    def processes(self, name: str = "") -> list[str]:
        """The command lines of what was started in it, all or those of one program."""

        def wanted(process: psutil.Process) -> bool:
            return process.environ().get(MARK) == self._mark and name in ("", process.name())

        return facts(lambda process: " ".join(process.cmdline()), running(wanted))

    def orphans(self, name: str = "") -> list[str]:
        """Those processes that do not end."""
        with suppress(AssertionError):
            until(lambda: not self.processes(name), "the end of its processes", LIMIT)
        return [f"a process is left: {command}" for command in self.processes(name)]


class Notebook:
    """A front end with widgets on a kernel of a project. Its name is in all of its prompts."""

    front_end: FrontEnd

    def __init__(self, project: Project, name: str) -> None:
        self.project, self.name, self.folder = project, name, project.root / name
        self.journal = Journal(project.root, name)
        self.folder.mkdir()
        (self.folder / "work").symlink_to(project.root / "work")
        self.book = project.root / f"{name}.ipynb"
        self.book.write_text("{}")
        self._kernel = ExitStack()

    def open(self) -> None:
        """Start the kernel."""
        environ = {**self.project.environ, "JPY_SESSION_NAME": str(self.book)}
        self.front_end = self._kernel.enter_context(kernel_process(self.folder, environ, self.project.argv))
        self.front_end.open_control()

    def kill(self) -> None:
        """SIGKILL of the kernel, if it runs."""
        self._kernel.close()

    def close(self) -> list[str]:
        """End the kernel; the errors in its log."""
        with self._kernel:
            self.front_end.control("shutdown_request", {"restart": False})
            return self.front_end.complaints()

    @property
    def agent(self) -> int:
        """The process of the agent that got the last prompt."""
        self.journal.read()
        return self.journal.agent

    @property
    def closed_sessions(self) -> set[str]:
        """Those that agents were asked to close."""
        self.journal.read()
        return self.journal.closed

    def begin(self, script: str, tag: str) -> Cell:
        """Send a prompt; `{tag}` in it is the tag."""
        self.front_end.published.clear()  # a front end that remembers everything slows down
        self.front_end.replies.clear()
        self.journal.begin()
        tag = f"{self.name}{tag}"
        return Cell(self, script.format(tag=tag), tag)

    def goes_on(self, trial: Trial, tag: str = "on") -> None:
        """The next prompt works, in the same session."""
        session = self.journal.session
        cell = self.begin("say {tag} 2", tag)
        took = cell.end()
        other = [] if session in ("", self.journal.session) else ["the next prompt went to another session"]
        trial.check(took, "next prompt", cell.wrong("", 2), other)

    def ensure_agent(self) -> int:
        """Run a turn if there is no agent; its process."""
        if not self.agent or not is_alive(self.agent):
            self.begin("say {tag} 1", "first").end()
        return self.agent

    def probe(self) -> dict[str, int]:
        """What the kernel holds: tasks, threads, descriptors and bytes of its own memory."""
        file = Path(self.project.environ["BENCHMARK_PROBE"])
        file.unlink(missing_ok=True)
        process = self.front_end.process
        process.send_signal(signal.SIGUSR1)
        until(file.exists, "the probe", LIMIT)
        return {
            **json.loads(file.read_text()),
            "descriptors": process.num_fds(),
            "bytes": process.memory_full_info().uss,
        }


Notebooks = list[Notebook]


class Cell:
    """A cell that was sent. What it says is known after `end`."""

    _outcome: Outcome

    def __init__(self, notebook: Notebook, script: str, tag: str) -> None:
        self._front_end, self._script, self._tag = notebook.front_end, script, tag
        self._request = notebook.front_end.execute(script)
        self.journal = notebook.journal

    def started(self) -> None:
        """Wait until the kernel has begun it: an interrupt before that means the cell before it."""
        self._front_end.see(lambda m: is_status(m, "busy") and parent(m) == self._request, LIMIT)

    def shows(self, word: int) -> None:
        """Wait until it shows the word of this number."""
        text = f"{self._tag}w{word}"
        self._front_end.see(lambda m: parent(m) == self._request and text in str(m["content"].get("data")), LIMIT)

    def button(self) -> str:
        """The button that allows, as soon as clicks on it count."""
        opened = self._front_end.see(lambda m: widget_state(m).get("description") == "Allow once", LIMIT)
        button = str(opened["content"]["comm_id"])
        self._front_end.see(
            lambda m: m["content"].get("comm_id") == button and widget_state(m).get("disabled") is False, LIMIT
        )
        return button

    def press(self, button: str = "") -> None:
        """Click on the button that allows."""
        self._front_end.press(button or self.button())

    def interrupt(self, *, by_signal: bool = False) -> None:
        """■; heard when this returns."""
        if by_signal:
            self._front_end.process.send_signal(signal.SIGINT)
            self._front_end.ask("kernel_info_request")
        else:
            self._front_end.control("interrupt_request")

    def has_ended(self, seconds: float) -> bool:
        """Whether its reply comes within some time."""
        with suppress(Empty):
            self._front_end.reply(self._request, seconds)
            return True
        return False

    def end(self) -> float:
        """The seconds until the reply and the idle status. Raises AssertionError if they do not come."""
        began = time.monotonic()
        try:
            self._front_end.idle(self._request, LIMIT)
            self._outcome = self._front_end.finish(self._request, LIMIT)
        except (AssertionError, Empty) as error:
            raise AssertionError(f"{self._script!r} does not end; agent {self.journal.agent}: {error}") from error
        self.journal.read()
        return time.monotonic() - began

    @property
    def error(self) -> str:
        """The name of the error that it ended with; empty if it went well."""
        return "" if self._outcome.status == "ok" else self._outcome.error[0]

    @property
    def text(self) -> str:
        """What it shows at the end."""
        return self._outcome.text

    @property
    def words(self) -> int:
        """How many words of the script it shows without a gap, from the first on."""
        found = set(self.text.split())
        return next(number for number in range(len(found) + 1) if f"{self._tag}w{number}" not in found)

    def wrong(self, error: str, words: int | None = None) -> list[str]:
        """Another error, or another number of words."""
        if self.error == error and words in (None, self.words):
            return []
        return [f"{self.error or 'ok'} with {self.words} words: {self.text[-300:]!r}"]

    def lost(self) -> list[str]:
        """Words that the agent has sent and it does not show, and requests of the agent without exactly one answer."""
        lost = (
            []
            if self.words >= self.journal.chunks
            else [f"{self.words} of {self.journal.chunks}: {self.text[-300:]!r}"]
        )
        return lost + self.journal.wrong_answers()


def widget_state(message: dict[str, Any]) -> dict[str, Any]:
    """Of a widget, as far as the message has it."""
    return dict(message["content"].get("data", {}).get("state", {}))
