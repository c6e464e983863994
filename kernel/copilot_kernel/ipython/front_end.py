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
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from typing import Any

from comm import get_comm_manager

from ..frontend.cell import Cell, Request, message_type
from ..frontend.vs_code import is_cell

Handler = Callable[[Any, Any, dict[str, Any]], Any]

PROBE_SECONDS = 1.0
"""Seconds after which a front end that has not refused a widget has widgets."""

BUSY_INTERVAL = 1.0
"""Seconds between two `busy` messages of a waiting cell."""

_COMMS = ("comm_open", "comm_msg", "comm_close")
_FIRST_ASKED = ("kernel_info_request", "comm_info_request")


def request(kernel: Any) -> Request:
    """The request of the cell that runs in this context."""
    return Request(kernel._parent_ident["shell"], kernel.get_parent("shell"))


@contextmanager
def attended(kernel: Any, cell: Request) -> Iterator[None]:
    """While `cell` waits inside, answer pages that connect, and publish `busy` and `idle` for comm messages.

    The cell is `busy` again after each.
    """
    handlers, busy = kernel.shell_handlers, _StillBusy(partial(_publish, kernel, "busy", cell.parent))
    ours = {name: partial(_handle, kernel, cell, busy, handlers[name]) for name in _COMMS}
    try:
        with _handled(handlers, ours), _informing(kernel, busy):
            yield
    finally:
        busy.stop()


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

    def __init__(self, publish: Callable[[], None]) -> None:
        self._publish, self._loop = publish, asyncio.get_running_loop()
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
                self._publish()

    def _beat(self) -> None:
        self.publish()
        self._timer = self._loop.call_later(BUSY_INTERVAL, self._beat)


async def _handle(
    kernel: Any,
    cell: Request,
    busy: _StillBusy,
    handler: Handler,
    stream: Any,
    ident: Any,
    message: Any,
) -> None:
    """Handle a comm message. Subshells, which are other threads, publish both states themselves, right after this."""
    publishes = threading.current_thread() is threading.main_thread()
    if publishes:
        _publish(kernel, "busy", message)
    try:
        result = None if _is_refused_elsewhere(cell, message) else handler(stream, ident, message)
        if isawaitable(result):
            await result
    finally:
        if publishes:
            _publish(kernel, "idle", message)
            busy.publish()
        else:
            asyncio.get_running_loop().call_soon(busy.publish)


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


@contextmanager
def parents_restored(kernel: Any) -> Iterator[None]:
    """Inside, restore the parent of each cell before its idle, also of the user's own asynchronous cells."""
    handler = kernel.shell_handlers["execute_request"]

    async def execute(stream: Any, ident: Any, parent: Any) -> None:
        try:
            await handler(stream, ident, parent)
        finally:
            if kernel.get_parent("shell") is not parent:
                kernel.set_parent(ident, parent, "shell")

    with _handled(kernel.shell_handlers, {"execute_request": execute}):
        yield


@contextmanager
def _handled(handlers: dict[str, Handler], ours: Mapping[str, Handler]) -> Iterator[None]:
    """Inside, messages are handled by `ours`. Handlers that others have replaced meanwhile stay."""
    before = {name: handlers[name] for name in ours}
    handlers.update(ours)
    try:
        yield
    finally:
        handlers.update({name: before[name] for name, handler in ours.items() if handlers[name] is handler})


class WidgetSupport:
    """Widget support of the front end that runs the cells: one without closes the first widget that it hears of."""

    def __init__(self) -> None:
        self.widgets_seen = False
        self.undrawn = False
        self._probe: asyncio.Task[None] | None = None

    def probe(self, cell: Cell) -> None:
        """Start finding out, once; called on the loop thread. VS Code refuses none: see `questions.py`."""
        if self._probe is None and cell.widgets and not is_cell(cell.cell_id):
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
