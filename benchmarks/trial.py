"""One kernel under faults, its cells, and the invariants that were broken."""

from __future__ import annotations

import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from random import Random

import psutil

from tests.jupyter.front_end import FrontEnd, Outcome, is_status, parent, until

from .faults import AGENT, GRACE, KERNEL, REPLY_LIMIT, Exchange, Journal, forget, is_alive, kernel, mark, orphans, words

MAX_PRINTED = 20


class Hung(AssertionError):
    """A cell did not get its reply in time."""


@dataclass
class Trial:
    """One scenario. `chance` makes what a round draws from, by its number."""

    chance: Callable[[int], Random]
    broken: list[str] = field(default_factory=list)
    slowest: float = 0.0
    skipped: str = ""
    ends: Counter[str] = field(default_factory=Counter)
    """How the cells of the rounds ended: a fault that never strikes proves nothing."""
    _round: int = 0

    def rounds(self, count: int) -> Iterator[tuple[int, Random]]:
        """The number and the chance of each round."""
        for number in range(count):
            self._round = number
            yield number, self.chance(number)

    def check(self, took: float, what: str, *problems: list[str]) -> None:
        """Note the problems of this round, and how long its reply took."""
        self.slowest = max(self.slowest, took)
        self.broken += [f"round {self._round}, {what}: {each}" for problem in problems for each in problem]

    @contextmanager
    def kernel(self, argv: tuple[str, ...] = KERNEL, **environ: str) -> Iterator[Kernel]:
        """A kernel that must end without orphans and without errors in its log."""
        with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as name:
            folder, marked = Path(name), mark()
            with kernel(folder, {**marked, **environ}, argv) as front_end:
                (folder / "work" / "notes.txt").write_text("notes\n")
                yield Kernel(front_end, folder, marked)
                self.check(0, "log", front_end.complaints()[:MAX_PRINTED])
                if front_end.manager.is_alive():
                    front_end.control("shutdown_request", {"restart": False})
                self.check(0, "end", [f"an orphan: {command}" for command in orphans(marked)])


class Kernel:
    """A kernel, the front end on it, and what its agents have noted. All of its tags begin with `name`."""

    def __init__(
        self,
        front_end: FrontEnd,
        folder: Path,
        environ: dict[str, str],
        exchange: Exchange | None = None,
        name: str = "",
    ) -> None:
        self.front_end, self.folder, self.environ, self._name = front_end, folder, environ, name
        self.exchange = exchange or Exchange(Journal(folder))

    @property
    def agent(self) -> int:
        """The process of the agent that wrote last."""
        self.exchange.read()
        return self.exchange.agent

    def begin(self, script: str, tag: str) -> Cell:
        """Send a prompt; `{tag}` in it is the tag."""
        forget(self.front_end)
        self.exchange.begin()
        tag = f"{self._name}{tag}"
        return Cell(self, script.format(tag=tag), tag)

    def ensure_agent(self) -> None:
        """Run a turn if there is no agent."""
        if not self.agent or not is_alive(self.agent):
            self.begin("say {tag} 1", "first").end()

    def await_end_of(self, agent: int) -> None:
        """Wait until the kernel knows that it has ended: a prompt that was sent before that is lost with it."""
        until(lambda: not psutil.pid_exists(agent), "the end of the agent")
        self.front_end.ask("kernel_info_request")

    def left_by_agents(self) -> list[str]:
        """Processes that agents have started, when none of these should be there."""
        return [f"left by an agent: {command}" for command in orphans(self.environ, "sleep")]

    def new_agent(self, seconds: float = 3.0) -> int | None:
        """The process of an agent that has just been started, before it says anything."""
        end, before = time.monotonic() + seconds, self.agent
        while time.monotonic() < end:
            for child in self.front_end.children():
                if child.pid != before and str(AGENT) in child.cmdline():
                    return child.pid
        return None


class Cell:
    """A cell that was sent. What it says is known after `end`."""

    def __init__(self, kernel: Kernel, script: str, tag: str) -> None:
        self._kernel, self._front_end, self._script, self._tag = kernel, kernel.front_end, script, tag
        self._request = kernel.front_end.execute(script)
        self._outcome: Outcome | None = None
        self.exchange = kernel.exchange

    def started(self) -> None:
        """Wait until the kernel has begun it: an interrupt before that means the cell before it."""
        self._front_end.see(lambda m: is_status(m, "busy") and parent(m) == self._request)

    def shows(self, text: str) -> None:
        """Wait until it shows the text."""
        self._front_end.shows(text, self._request)

    def button(self) -> str:
        """The button that allows, as soon as clicks on it count."""
        button = self._front_end.button("Allow once")
        self._front_end.see(lambda m: m["content"].get("comm_id") == button and _is_enabled(m["content"]))
        return button

    def interrupt(self, *, by_signal: bool = False) -> None:
        """■; heard when this returns."""
        if by_signal:
            self._front_end.process.send_signal(2)
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
        """The seconds until the reply and the idle status. Raises Hung."""
        began = time.monotonic()
        try:
            self._outcome = self._front_end.finish(self._request, REPLY_LIMIT)
        except (AssertionError, Empty) as error:
            raise Hung(self._report()) from error
        self.exchange.read()
        return time.monotonic() - began

    def _report(self) -> str:
        """Where it hangs."""
        process = self._front_end.process
        process.send_signal(signal.SIGUSR2)
        time.sleep(1)
        shown = [f"{m['msg_type']} {str(m['content'])[:200]}" for m in self._front_end.published[-8:]]
        self.exchange.read()
        log = self._front_end.log.read_text()[-20_000:]
        head = f"{self._script!r}: no reply within {REPLY_LIMIT:g} s; agent {self.exchange.agent}"
        return "\n".join([head, *shown, log])

    @property
    def error(self) -> str:
        """The name of the error that it ended with; empty if it went well."""
        assert self._outcome is not None
        return "" if self._outcome.status == "ok" else self._outcome.error[0]

    @property
    def text(self) -> str:
        """What it shows at the end."""
        assert self._outcome is not None
        return self._outcome.text

    @property
    def words(self) -> int:
        """How many words of the script it shows without a gap."""
        return words(self.text, self._tag)

    def lost(self) -> list[str]:
        """Words that the agent has sent, and that it does not show."""
        if self.words >= self.exchange.chunks:
            return []
        return [f"of {self.exchange.chunks} words {self.words} are shown: {self.text[-300:]!r}"]

    def unanswered(self) -> list[str]:
        """Requests of the agent without exactly one answer."""
        return self.exchange.wrong_answers()


def _is_enabled(content: dict[str, object]) -> bool:
    data = content.get("data")
    state = data.get("state") if isinstance(data, dict) else None
    return isinstance(state, dict) and state.get("disabled") is False


def interrupted(cell: Cell, chance: Random, *, twice: bool) -> tuple[float, list[str]]:
    """Press ■ while the agent hangs: how long the cell took to end, and what is wrong with that."""
    cell.interrupt()
    if twice:
        time.sleep(chance.uniform(0.31, 0.45))
        cell.interrupt()
    took = cell.end()
    return took, [] if twice or took >= GRACE * 0.9 else [f"ended after {took:.2f} s, before the grace was over"]
