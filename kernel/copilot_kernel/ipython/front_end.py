"""What a stock Python kernel lacks for widgets while a cell waits, and whether its front end has widgets at all.

ipykernel 7.4 handles comm messages while an asynchronous cell runs, but publishes neither busy nor idle for them, so
that ipywidgets sends no second change of an input; and after a message it may put back the parent of the cell before,
so that the next cell's idle goes astray. Both are mended from outside. And a page without widgets that is connected
to the kernel, such as Notebook 7's list of files, closes the widgets that another page shows.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable, signature
from typing import Any

from comm import get_comm_manager

from ..frontend.cell import Cell, Request
from ..frontend.presence import Clients

Handler = Callable[[Any, Any, dict[str, Any]], Any]

PATIENCE = 1.0
"""Seconds after which a front end that has not refused a widget has widgets."""

PULSE = 1.0
"""Seconds between two words that a waiting cell is busy."""

_COMMS = ("comm_open", "comm_msg", "comm_close")
_CONTROL = "jupyter.widget.control"


def clicks_arrive(kernel: Any) -> bool:
    """Whether `kernel` (ipykernel's) handles comm messages while a cell waits, and lets us name a widget's parent."""
    dispatch = getattr(kernel, "dispatch_shell", None)
    concurrent = callable(dispatch) and "concurrent" in signature(dispatch).parameters
    return concurrent and isinstance(getattr(kernel, "_shell_parent", None), ContextVar)


def request(kernel: Any) -> Request:
    """The one whose cell runs in this context."""
    return Request(kernel._parent_ident["shell"], kernel.get_parent("shell"))


@contextmanager
def attended(kernel: Any, cell: Request, clients: Clients) -> Iterator[None]:
    """`cell` waits inside: comm messages have their busy and idle, and then the cell is busy again.

    `clients` counts those that connect.
    """
    handlers = {name: kernel.shell_handlers[name] for name in _COMMS if name in kernel.shell_handlers}
    ours = {name: partial(_handle, kernel, cell, clients, handler) for name, handler in handlers.items()}
    kernel.shell_handlers.update(ours)
    pulse = _Pulse(partial(_publish, kernel, "busy", cell.parent))
    try:
        yield
    finally:
        pulse.stop()
        for name, handler in handlers.items():
            if kernel.shell_handlers[name] is ours[name]:
                kernel.shell_handlers[name] = handler


class _Pulse:
    """Says again and again that the cell is busy: JupyterLab takes the idle of any control message for the kernel's."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say, self._loop = say, asyncio.get_running_loop()
        self._timer = self._loop.call_later(PULSE, self._beat)

    def stop(self) -> None:
        """No more."""
        self._timer.cancel()

    def _beat(self) -> None:
        self._say()
        self._timer = self._loop.call_later(PULSE, self._beat)


async def _handle(
    kernel: Any, cell: Request, clients: Clients, handler: Handler, stream: Any, ident: Any, message: Any
) -> None:
    """Other threads are subshells, which publish both themselves."""
    publishes = threading.current_thread() is threading.main_thread()
    if publishes:
        _publish(kernel, "busy", message)
    try:
        result = None if _is_refused_elsewhere(cell, message) else handler(stream, ident, message)
        if isawaitable(result):
            await result
        if _is_connection(message):
            clients.connected(message["header"]["session"])
    finally:
        if publishes:
            _publish(kernel, "idle", message)
            _publish(kernel, "busy", cell.parent)


def _is_connection(message: Any) -> bool:
    """Whether a front end asks for the state of all widgets, as a page does that has just loaded."""
    return bool(message["content"].get("target_name") == _CONTROL)


def _is_refused_elsewhere(cell: Request, message: Any) -> bool:
    """Whether a front end closes a widget that is the kernel's own, and is not the one that runs the cell."""
    if message["header"]["msg_type"] != "comm_close":
        return False
    found = get_comm_manager().comms.get(message["content"]["comm_id"])
    ours = found is not None and found.primary and found.target_name == "jupyter.widget"
    return ours and message["header"]["session"] != cell.parent["header"]["session"]


def _publish(kernel: Any, state: str, parent: Any) -> None:
    content = {"execution_state": state}
    kernel.session.send(kernel.iopub_socket, "status", content, parent, ident=kernel._topic("status"))


class Parents:
    """Puts right whose idle comes at the end of a cell, of the user's own asynchronous cells too.

    IPython calls `begin` in the cell's own context, where the parent is never wrong, and `end` in the one in which the
    kernel publishes the idle, just before it does.
    """

    def __init__(self, kernel: Any, events: Any) -> None:
        self._kernel, self._events = kernel, events
        self._cell: Request | None = None

    def watch(self) -> None:
        """From the cell that runs now on."""
        self.begin()
        self._events.register("pre_run_cell", self.begin)
        self._events.register("post_run_cell", self.end)

    def leave(self) -> None:
        """No longer."""
        self._events.unregister("pre_run_cell", self.begin)
        self._events.unregister("post_run_cell", self.end)

    def begin(self, info: Any = None) -> None:
        """A cell begins. Those of subshells run in other threads, and nothing comes between them."""
        if threading.current_thread() is threading.main_thread():
            self._cell = request(self._kernel)

    def end(self, result: Any = None) -> None:
        """It is over."""
        cell = self._cell
        if cell is None or threading.current_thread() is not threading.main_thread():
            return
        if self._kernel.get_parent("shell") is not cell.parent:
            self._kernel.set_parent(cell.ident, cell.parent, channel="shell")


class Widgets:
    """Whether the front end that runs the cells has widgets: one without refuses the first that it is told of."""

    def __init__(self) -> None:
        self.widgets_seen = False
        self.clients = Clients()
        self._probe: asyncio.Task[None] | None = None

    def probe(self, cell: Cell) -> None:
        """Begin to find out, once; on the loop on which questions are asked."""
        if self._probe is None and cell.widgets:
            self._probe = asyncio.create_task(self._find_out(cell))

    async def known(self) -> None:
        """Until it is found out."""
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
            refused.set()  # the main thread has handled the refusal before this one could listen
        try:
            await asyncio.wait_for(refused.wait(), PATIENCE)
        except TimeoutError:
            self.widgets_seen = True
            with cell.owning():
                trial.close()
