"""Make widgets work in a stock Python kernel while a cell waits, and find out whether the front end has widgets.

ipykernel 7.4 handles comm messages while an asynchronous cell runs, but publishes neither busy nor idle for them, so
that ipywidgets sends no second change of an input; and after a message it may restore the parent of the previous cell,
so that the next cell's idle has the wrong parent. What a page asks first, about the kernel and its comms, waits for the
cell: a page that is loaded again may never show the buttons that the cell waits for. All three are fixed from outside.
Also, a page without widgets that is connected to the kernel, such as Notebook 7's list of files, closes the widgets
that another page shows.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable, signature
from typing import Any

from comm import get_comm_manager

from ..output.cell import Cell, Request, message_type

Handler = Callable[[Any, Any, dict[str, Any]], Any]

PROBE_SECONDS = 1.0
"""Seconds after which a front end that has not refused a widget has widgets."""

BUSY_INTERVAL = 1.0
"""Seconds between two `busy` messages of a waiting cell."""

_COMMS = ("comm_open", "comm_msg", "comm_close")
_FIRST_ASKED = ("kernel_info_request", "comm_info_request")


def clicks_arrive(kernel: Any) -> bool:
    """Return True if `kernel` handles comm messages while a cell waits, and lets us name a widget's parent."""
    dispatch = getattr(kernel, "dispatch_shell", None)
    concurrent = callable(dispatch) and "concurrent" in signature(dispatch).parameters
    return concurrent and isinstance(getattr(kernel, "_shell_parent", None), ContextVar)


def request(kernel: Any) -> Request:
    """The request of the cell that runs in this context."""
    return Request(kernel._parent_ident["shell"], kernel.get_parent("shell"))


@contextmanager
def attended(kernel: Any, cell: Request) -> Iterator[None]:
    """While `cell` waits inside, answer pages that connect, and publish `busy` and `idle` for comm messages.

    The cell is `busy` again after each.
    """
    handlers = {name: kernel.shell_handlers[name] for name in _COMMS if name in kernel.shell_handlers}
    busy = _StillBusy(kernel, cell)
    ours = {name: partial(busy.handle, handler) for name, handler in handlers.items()}
    kernel.shell_handlers.update(ours)
    try:
        with _informing(kernel, busy):
            yield
    finally:
        busy.stop()
        for name, handler in handlers.items():
            if kernel.shell_handlers[name] is ours[name]:
                kernel.shell_handlers[name] = handler


@contextmanager
def _informing(kernel: Any, busy: _StillBusy) -> Iterator[None]:
    """Inside, what a page asks first is answered at once, in the thread that receives it.

    Without an answer JupyterLab sends nothing else for 3 s. The widgets must come in the second after that; if not, it
    asks for a list of comms, and shows no widget until it has one.
    """
    thread = kernel.shell_channel_thread

    async def receive(frames: Any) -> None:
        kind = message_type(kernel.session, frames)
        if kind not in _FIRST_ASKED:
            await kernel.shell_channel_thread_main(frames)
            return
        ident, parts = kernel.session.feed_identities(frames, copy=False)
        message = kernel.session.deserialize(parts, copy=False)
        _publish(kernel, "busy", message)
        await kernel.shell_handlers[kind](kernel.shell_stream, ident, message)
        _publish(kernel, "idle", message)
        busy.publish()

    def listen(callback: Callable[[Any], Awaitable[None]]) -> None:
        if thread is not None:
            thread.io_loop.add_callback(kernel.shell_stream.on_recv, callback, copy=False)

    listen(receive)
    try:
        yield
    finally:
        listen(kernel.shell_channel_thread_main)


class _StillBusy:
    """Publishes `busy` for the waiting cell: JupyterLab takes the idle of any message for the kernel's."""

    def __init__(self, kernel: Any, cell: Request) -> None:
        self._kernel, self._cell, self._loop = kernel, cell, asyncio.get_running_loop()
        self._lock, self._waits = threading.Lock(), True
        self._timer = self._loop.call_later(BUSY_INTERVAL, self._beat)

    def stop(self) -> None:
        """The cell waits no longer: a `busy` after its idle would stay."""
        self._timer.cancel()
        with self._lock:
            self._waits = False

    def publish(self) -> None:
        """Publish it now, if the cell still waits. Called on any thread."""
        with self._lock:
            if self._waits:
                _publish(self._kernel, "busy", self._cell.parent)

    async def handle(self, handler: Handler, stream: Any, ident: Any, message: Any) -> None:
        """Handle a comm message. Subshells, other threads, publish both states themselves, right after this."""
        publishes = threading.current_thread() is threading.main_thread()
        if publishes:
            _publish(self._kernel, "busy", message)
        try:
            result = None if _is_refused_elsewhere(self._cell, message) else handler(stream, ident, message)
            if isawaitable(result):
                await result
        finally:
            if publishes:
                _publish(self._kernel, "idle", message)
                self.publish()
            else:
                asyncio.get_running_loop().call_soon(self.publish)

    def _beat(self) -> None:
        self.publish()
        self._timer = self._loop.call_later(BUSY_INTERVAL, self._beat)


def _is_refused_elsewhere(cell: Request, message: Any) -> bool:
    """Return True if another front end than the one that runs the cell closes one of the kernel's own widgets."""
    if message["header"]["msg_type"] != "comm_close":
        return False
    found = get_comm_manager().comms.get(message["content"]["comm_id"])
    ours = found is not None and found.primary and found.target_name == "jupyter.widget"
    return ours and message["header"]["session"] != cell.parent["header"]["session"]


def _publish(kernel: Any, state: str, parent: Any) -> None:
    content = {"execution_state": state}
    kernel.session.send(kernel.iopub_socket, "status", content, parent, ident=kernel._topic("status"))


class ParentTracker:
    """Restores the parent of the running cell before its idle, also for the user's own asynchronous cells.

    IPython calls `begin` in the cell's own context, where the parent is never wrong, and `end` in the one in which the
    kernel publishes the idle, just before it does. The first cell is the one that runs now.
    """

    def __init__(self, kernel: Any, events: Any) -> None:
        self._kernel, self._events = kernel, events
        self.cell: Request | None = None
        """The cell that runs. A run within it may begin and end like a cell: keep this for the time."""
        self.begin()
        self._events.register("pre_run_cell", self.begin)
        self._events.register("post_run_cell", self.end)

    def leave(self) -> None:
        """Unregister from IPython's events."""
        self._events.unregister("pre_run_cell", self.begin)
        self._events.unregister("post_run_cell", self.end)

    def begin(self, info: Any = None) -> None:
        """Remember the cell's request. Subshells run in other threads and need no repair."""
        if threading.current_thread() is threading.main_thread():
            self.cell = request(self._kernel)

    def end(self, result: Any = None) -> None:
        """Restore the parent if it is another cell's."""
        cell = self.cell
        if cell is None or threading.current_thread() is not threading.main_thread():
            return
        if self._kernel.get_parent("shell") is not cell.parent:
            self._kernel.set_parent(cell.ident, cell.parent, channel="shell")


class WidgetSupport:
    """Widget support of the front end that runs the cells: one without closes the first widget that it hears of."""

    def __init__(self) -> None:
        self.widgets_seen = self.undrawn = False
        self._probe: asyncio.Task[None] | None = None

    def probe(self, cell: Cell) -> None:
        """Start finding out, once; called on the loop thread. See `Traits.draw_seconds`."""
        if self._probe is None and cell.widgets and not cell.traits.draw_seconds:
            self._probe = asyncio.create_task(self._find_out(cell))

    async def known(self) -> None:
        """Wait until it is known."""
        if self._probe is not None:
            await asyncio.wait({self._probe})

    async def _find_out(self, cell: Cell) -> None:
        from ipywidgets import Layout  # type: ignore[attr-defined]

        loop, refused = asyncio.get_running_loop(), asyncio.Event()

        def closed(message: Any) -> None:
            if message["header"]["session"] == cell.session:
                loop.call_soon_threadsafe(refused.set)

        with cell.owning():
            trial = Layout()
        trial.comm.on_close(closed)
        if trial.comm.comm_id not in get_comm_manager().comms:
            refused.set()  # the main thread handled the refusal before this thread could listen
        try:
            await asyncio.wait_for(refused.wait(), PROBE_SECONDS)
        except TimeoutError:
            self.widgets_seen = True
            with cell.owning():
                trial.close()
