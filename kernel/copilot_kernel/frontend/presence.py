"""Whether a client still shows a question.

JupyterLab drops the outputs of a running cell when its page is reloaded and the notebook was not saved: the kernel
then waits for an answer to a question that nobody sees. Kernels are not told when a client goes, but see when one
connects. Then this adds a widget to the question: every client that draws it reports a view (`_view_count`). If none
does within `GRACE_SECONDS`, the question is cancelled, unless the notebook was saved with it: JupyterLab does not draw
the end of a long notebook before somebody scrolls there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .first import first

if TYPE_CHECKING:
    from .cell import Cell

T = TypeVar("T")

GRACE_SECONDS = 150.0
"""Longer than JupyterLab waits before it saves a notebook by itself (120 s), and than a slow page takes to load."""

UNSEEN = "no open page showed this question"
NOTICE = (
    "A question was cancelled because no open page showed it: {}\n"
    "A page that is reloaded before the notebook is saved loses its open questions. Run the prompt again.\n"
)
"""For the next cell: nobody sees the one that asked."""


class Widgets(Protocol):
    """Those of a question."""

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows them."""

    def probe(self, on_drawn: Callable[[], None]) -> None:
        """Call `on_drawn` once a client draws them, on the thread that handles comm messages."""


class Clients:
    """How often each client with widgets has connected to the kernel, by `session`. A page connects when it loads."""

    def __init__(self) -> None:
        self._connections: Counter[str] = Counter()
        self._waiting: set[Callable[[], None]] = set()

    def connected(self, session: str) -> None:
        """Count one connection. May be called on another thread than those that wait for it."""
        self._connections[session] += 1
        for wake in tuple(self._waiting):
            wake()

    def others(self, session: str) -> int:
        """Connections of clients with another session."""
        return self._connections.total() - self._connections[session]

    async def another(self, session: str, known: int) -> int:
        """Wait until there are more than `known` connections of others; how many."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        self._waiting.add(wake)
        try:
            while self.others(session) <= known:
                await woken.wait()
                woken.clear()
        finally:
            self._waiting.discard(wake)
        return self.others(session)


async def while_shown(cell: Cell, widgets: Widgets, answer: Awaitable[T], unseen: T) -> T:
    """`answer`; or `unseen`, if a client has connected since the cell began and none shows the question."""
    return await first(answer, _unseen(cell, widgets, unseen), decides=lambda _: True)


async def _unseen(cell: Cell, widgets: Widgets, result: T) -> T:
    """A client that connects during the grace time gets one of its own."""
    known = cell.others_before
    while True:
        known = await cell.clients.another(cell.session, known)
        if await _is_drawn(cell, widgets) or await asyncio.to_thread(_is_saved, widgets):
            continue
        if cell.clients.others(cell.session) == known:
            return result


def _is_saved(widgets: Widgets) -> bool:
    """The notebook on disk shows them. Unknown where the notebook is on another machine."""
    from copilot_widgets.permission import WIDGET_VIEW

    from .. import config

    model_id = str(widgets.bundle()[WIDGET_VIEW]["model_id"])
    try:
        return model_id.encode() in Path(config.notebook()).read_bytes()
    except OSError:
        return False


async def _is_drawn(cell: Cell, widgets: Widgets) -> bool:
    loop, drawn = asyncio.get_running_loop(), asyncio.Event()

    def on_drawn() -> None:
        loop.call_soon_threadsafe(drawn.set)

    with cell.owning():
        widgets.probe(on_drawn)
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            await drawn.wait()
    except TimeoutError:
        return False
    return True
