"""A cell that writes down what is sent, and a loop whose time passes when the test says so."""

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.conversation.model import Message, Notice, ToolCall
from copilot_kernel.conversation.text import GrowingText
from copilot_kernel.output.vs_code import Traits
from copilot_kernel.permissions.question import Question
from copilot_kernel.rendering.report import CELL

Bundle = dict[str, Any]

ALLOW, ALWAYS, REJECT = (
    PermissionOption("yes", "Allow once", "allow_once"),
    PermissionOption("always", "Always allow", "allow_always"),
    PermissionOption("no", "Reject", "reject_once"),
)
OPTIONS = (ALLOW, ALWAYS, REJECT)


class Timer:
    """A call that waits for its time."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self._at, self.call, self.cancelled = at, call, False

    def when(self) -> float:
        return self._at

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """What a page needs of an event loop."""

    def __init__(self) -> None:
        self.now = 100.0
        self._calls: list[tuple[float, int, Timer]] = []
        self._numbers = count()

    def time(self) -> float:
        return self.now

    def call_at(self, at: float, call: Callable[[], None]) -> Timer:
        timer = Timer(at, call)
        heapq.heappush(self._calls, (at, next(self._numbers), timer))
        return timer

    def pass_time(self, seconds: float = 0.0) -> None:
        """Run what is due until then, each call at its own time."""
        end = self.now + seconds
        while self._calls and self._calls[0][0] <= end:
            at, _, timer = heapq.heappop(self._calls)
            self.now = max(self.now, at)
            if not timer.cancelled:
                timer.call()
        self.now = end


class RecordingCell:
    """`sent` is every message; `outputs` what a front end would hold, in order."""

    guard_seconds = 0.0
    server_run = False
    wording = CELL

    def __init__(self, live: bool = True, cell_id: str | None = "cell", seen: bool = True) -> None:
        self.live, self.cell_id = live, cell_id if live else None
        self.session, self.front_end = (
            "the page that runs the cell",
            SimpleNamespace(widgets_seen=seen, undrawn=False, known=self.known),
        )
        self.widgets = live and cell_id is not None
        self.traits = Traits()
        self.sent: list[tuple[str, Bundle]] = []
        self.metadata: list[Any] = []
        self.prompts: list[str] = []
        self.owned = self.busied = 0
        self.request, self.saved_id = None, self.cell_id or ""
        self.request_id, self.source = uuid4().hex, ""
        self.shown = dict[object, tuple[Bundle, Bundle]]()
        self.typed: asyncio.Queue[str | None] = asyncio.Queue()
        self._outputs: dict[Any, Bundle] = {}

    @property
    def outputs(self) -> list[Bundle]:
        return list(self._outputs.values())

    @property
    def plain(self) -> list[str]:
        return [output.get("text/plain", "") for output in self.outputs]

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.sent]

    @property
    def printed(self) -> str:
        """As a terminal shows it: updates are not seen."""
        ends = {"stream": "", "display": "\n"}
        return "".join(data["text/plain"] + ends[kind] for kind, data in self.sent if kind in ends)

    def display(self, data: Bundle, *, display_id: str | None = None, metadata: Any = None) -> None:
        assert display_id is None or display_id not in self._outputs
        self._send("display", data, display_id or object(), metadata)

    def update(self, data: Bundle, *, display_id: str, metadata: Any = None) -> None:
        assert display_id in self._outputs
        self._send("update", data, display_id, metadata)

    def stream(self, text: str) -> None:
        self._send("stream", {"text/plain": text}, object(), None)

    async def known(self) -> None:
        """They are."""

    def busy(self) -> None:
        self.busied += 1

    @contextmanager
    def owning(self) -> Iterator[None]:
        self.owned += 1
        yield

    async def input(self, prompt: str) -> str:
        """What the test puts into `typed`; None is the end of input."""
        self.prompts.append(prompt)
        value = await self.typed.get()
        if value is None:
            raise EOFError
        return value

    def _send(self, kind: str, data: Bundle, key: Any, metadata: Any) -> None:
        self.sent.append((kind, data))
        self.metadata.append(metadata)
        self._outputs[key] = data
        if kind != "stream":
            self.shown[key] = data, metadata or {}


def said(entry_id: int, *parts: str) -> Message:
    """A message of the agent's, grown part by part."""
    return spoken(entry_id, "agent", *parts)


def spoken(entry_id: int, speaker: Any, *parts: str) -> Message:
    text = GrowingText()
    for part in parts:
        text = text.append(part)
    return Message(entry_id, 1, speaker, text)


def call(entry_id: int, status: Any = "completed", title: str = "", **more: Any) -> ToolCall:
    return ToolCall(entry_id, 1, f"call-{entry_id}", title or f"Step {entry_id}", status=status, **more)


def notice(entry_id: int, title: str) -> Notice:
    return Notice(entry_id, 1, "info", title)


def question(about: ToolCall, options: tuple[PermissionOption, ...] = OPTIONS) -> Question:
    return Question(about, options)
