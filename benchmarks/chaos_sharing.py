"""Faults of two notebooks that share an agent: what strikes one of them leaves the other alone, and both go on."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.jupyter.front_end import until

from .chaos_kernel import resumed
from .chaos_turns import KINDS, MOMENTS, goes_on, send_signal
from .faults import AGENT, REPLY_LIMIT, Exchange, Journal, kernel, mark, orphans
from .trial import MAX_PRINTED, Cell, Kernel, Trial, interrupted

IDLE = 2.0
"""Seconds after the last notebook, in which a broker and its agent end."""
SEEN_SECONDS = 10.0


class Project:
    """A folder whose notebooks have one agent, that agent's journal, and an environment that no other process has."""

    def __init__(self, root: Path) -> None:
        self.root, self.marked = root, mark()
        self._environ = {
            **self.marked,
            **{name: str(root / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")},
            "JUPYTER_RUNTIME_DIR": str(root / "run"),
            "COPILOT_KERNEL_AGENT": shlex.join([sys.executable, "-I", "-S", str(AGENT), str(root)]),
            "COPILOT_KERNEL_AGENT_SHARING": "user",
            "COPILOT_KERNEL_STATE": str(root / "state"),
            "BENCHMARK_PROBE": str(root / "probe.json"),
            "BENCHMARK_IDLE": str(IDLE),
        }
        (root / "work").mkdir()
        (root / "work" / "notes.txt").write_text("notes\n")
        self.exchanges = {name: Exchange(Journal(root), name) for name in ("left", "right")}
        for name in self.exchanges:
            (root / name).mkdir()
            (root / name / "work").symlink_to(root / "work")
            (root / f"{name}.ipynb").write_text("{}")

    @contextmanager
    def notebook(self, trial: Trial, name: str) -> Iterator[Kernel]:
        """The kernel of one, which must have no errors in its log."""
        folder, book = self.root / name, str(self.root / f"{name}.ipynb")
        with kernel(folder, {**self._environ, "JPY_SESSION_NAME": book}) as front_end:
            yield Kernel(front_end, folder, self.marked, self.exchanges[name], name)
            trial.check(0, f"log of {name}", front_end.complaints()[:MAX_PRINTED])
            if front_end.manager.is_alive():
                front_end.control("shutdown_request", {"restart": False})


@contextmanager
def _project(trial: Trial) -> Iterator[Project]:
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as name:
        project = Project(Path(name))
        yield project
        trial.check(0, "end", [f"an orphan: {command}" for command in orphans(project.marked)])


@contextmanager
def _two(trial: Trial) -> Iterator[tuple[Kernel, Kernel]]:
    with (
        _project(trial) as project,
        project.notebook(trial, "left") as left,
        project.notebook(trial, "right") as right,
    ):
        yield left, right


def kills(trial: Trial, count: int) -> None:
    """SIGKILL of the agent, or of the broker with it: both notebooks go on with one agent that is new."""
    with _two(trial) as (left, right):
        for number, chance in trial.rounds(count):
            agent = _shared(trial, left, right)
            cells = [(left, left.begin(chance.choice(KINDS), f"k{number}"))]
            if chance.random() < 0.7:
                cells.append((right, right.begin(chance.choice(KINDS), f"k{number}")))
            is_broker = chance.random() < 0.2
            time.sleep(chance.uniform(0, MOMENTS))
            send_signal(_broker(agent) if is_broker else agent, signal.SIGKILL)
            for each, cell in cells:  # what is on its way through the broker is lost with it
                took, came_later = _struck(each, cell, agent)
                trial.check(took, "kill", [] if is_broker else cell.lost(), cell.unanswered())
                trial.ends[f"{cell.error or 'ok'}{', asked of the next agent' * came_later}"] += 1
            for each in (left, right):
                each.await_end_of(agent)
            for each in (left, right):
                goes_on(trial, each, number)
        trial.check(0, "kills", left.left_by_agents())


def hangs(trial: Trial, count: int) -> None:
    """A turn of one notebook ignores the cancel: the other's turn goes on. Or the whole agent is stopped."""
    with _two(trial) as (left, right):
        for number, chance in trial.rounds(count):
            agent = _shared(trial, left, right)
            is_stopped, twice = chance.random() < 0.25, chance.random() < 0.3
            cell = left.begin(f"say {{tag}} 3\n{'wait' if is_stopped else 'hang'}", f"h{number}")
            cell.shows(f"lefth{number}w2")
            other = right.begin("say {tag} 60 20" if is_stopped else "call 5\nsay {tag} 60 20", f"h{number}")
            time.sleep(chance.uniform(0, MOMENTS))
            if is_stopped:
                send_signal(agent, signal.SIGSTOP)
            took, early = interrupted(cell, chance, twice=twice)
            trial.check(took, "hang", early, _ended(cell, "Cancelled"), cell.lost(), cell.unanswered())
            if is_stopped:
                other.interrupt()
                trial.check(other.end(), "stopped agent", _ended(other, "Cancelled"), other.lost(), other.unanswered())
            else:
                _goes_well(trial, other, 60)
            goes_on(trial, left, number)
            goes_on(trial, right, number)
            if not is_stopped:
                trial.check(0, "hang", [] if right.agent == agent else ["the other notebook got another agent"])
                restart = right.begin("%restart", "restart")
                trial.check(restart.end(), "restart", _ended(restart, ""))


def resumes(trial: Trial, count: int) -> None:
    """`kill -9` of one kernel during a turn: its session is closed and resumed, the other's turn goes on."""
    with _project(trial) as project, project.notebook(trial, "right") as right:
        for number, chance in trial.rounds(count):
            with project.notebook(trial, "left") as left:
                resumed(trial, left, number)
                agent = _shared(trial, left, right)
                session = left.exchange.session
                other = right.begin("call 5\nsay {tag} 40 4", f"o{number}")
                left.begin(chance.choice(KINDS), f"kill{number}")
                time.sleep(chance.uniform(0, MOMENTS))
                left.exchange.closed.discard(session)
                left.front_end.process.kill()
                _goes_well(trial, other, 40)
                trial.check(0, "kernel killed", _unclosed(left.exchange, session))
            trial.check(0, "kernel killed", [] if right.agent == agent else ["the other notebook got another agent"])


def _shared(trial: Trial, left: Kernel, right: Kernel) -> int:
    """The agent that both have after a prompt each."""
    for each in (left, right):
        each.begin("say {tag} 1", "first").end()
    trial.check(0, "sharing", [] if left.agent == right.agent else [f"two agents: {left.agent} and {right.agent}"])
    return left.agent


def _struck(kernel: Kernel, cell: Cell, agent: int) -> tuple[float, bool]:
    """The seconds to its end, and whether its prompt came after that of `agent`: then it is stopped in the next one."""
    began = time.monotonic()
    while not cell.has_ended(0.05) and time.monotonic() < began + REPLY_LIMIT:
        if kernel.agent != agent:
            cell.interrupt()
            cell.end()
            return time.monotonic() - began, True
    return time.monotonic() - began + cell.end(), False


def _broker(agent: int) -> int:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(agent).ppid()
    return agent


def _goes_well(trial: Trial, cell: Cell, count: int) -> None:
    """A turn that must not notice anything."""
    took = cell.end()
    missing = [] if cell.words == count else [f"of {count} words {cell.words} are shown: {cell.text[-300:]!r}"]
    trial.check(took, "the other notebook", _ended(cell, ""), missing, cell.unanswered())


def _ended(cell: Cell, wanted: str) -> list[str]:
    return [] if cell.error == wanted else [f"the cell ended with {cell.error!r}: {cell.text[-300:]!r}"]


def _unclosed(exchange: Exchange, session: str) -> list[str]:
    def is_closed() -> bool:
        exchange.read()
        return session in exchange.closed

    try:
        until(is_closed, "the session is closed", SEEN_SECONDS)
    except AssertionError:
        return [f"the agent was not told to close {session}"]
    return []
