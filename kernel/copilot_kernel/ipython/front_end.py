"""What a stock Python kernel lacks for widgets while a cell waits, and whether its front end has widgets at all.

ipykernel 7.4 handles comm messages while an asynchronous cell runs, but publishes neither busy nor idle for them, so
that ipywidgets sends no second change of an input; and it may put back the parent of the cell before, so that the
cell's own idle goes astray. Both are mended from outside, and only as long as one of our cells waits.
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

from ..cells.cell import Cell, Request

Handler = Callable[[Any, Any, dict[str, Any]], Any]

PATIENCE = 1.0
"""Seconds after which a front end that has not refused a widget has widgets."""

_COMMS = ("comm_open", "comm_msg", "comm_close")


def clicks_arrive(kernel: Any) -> bool:
    """Whether `kernel` (ipykernel's) handles comm messages while a cell waits, and lets us name a widget's parent."""
    dispatch = getattr(kernel, "dispatch_shell", None)
    concurrent = callable(dispatch) and "concurrent" in signature(dispatch).parameters
    return concurrent and isinstance(getattr(kernel, "_shell_parent", None), ContextVar)


@contextmanager
def attended(kernel: Any, shell: Any, request: Request) -> Iterator[None]:
    """The cell of `request` waits inside: comm messages have their busy and idle, and then the cell is busy again."""
    handlers = {name: kernel.shell_handlers[name] for name in _COMMS if name in kernel.shell_handlers}
    ours = {name: partial(_handle, kernel, request, handler) for name, handler in handlers.items()}
    kernel.shell_handlers.update(ours)
    try:
        yield
    finally:
        for name, handler in handlers.items():
            if kernel.shell_handlers[name] is ours[name]:
                kernel.shell_handlers[name] = handler
        _restore_after_cell(kernel, shell, request)


async def _handle(kernel: Any, cell: Request, handler: Handler, stream: Any, ident: Any, message: Any) -> None:
    """Other threads are subshells, which publish both themselves."""
    publishes = threading.current_thread() is threading.main_thread()
    if publishes:
        _publish(kernel, "busy", message)
    try:
        result = handler(stream, ident, message)
        if isawaitable(result):
            await result
    finally:
        if publishes:
            _publish(kernel, "idle", message)
            _publish(kernel, "busy", cell.parent)


def _publish(kernel: Any, state: str, parent: Any) -> None:
    content = {"execution_state": state}
    kernel.session.send(kernel.iopub_socket, "status", content, parent, ident=kernel._topic("status"))


def _restore_after_cell(kernel: Any, shell: Any, cell: Request) -> None:
    """IPython calls back where the kernel will publish the cell's idle: in that context the parent must be right."""

    def restore() -> None:
        shell.events.unregister("post_execute", restore)
        if kernel.get_parent("shell") is not cell.parent:
            kernel.set_parent(cell.ident, cell.parent, channel="shell")

    shell.events.register("post_execute", restore)


class Widgets:
    """Whether the front end has widgets: one that has none refuses the first that it is told of."""

    def __init__(self) -> None:
        self.widgets_seen = False
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
        with cell.owning():
            trial = Layout()
        trial.comm.on_close(lambda message: loop.call_soon_threadsafe(refused.set))
        try:
            await asyncio.wait_for(refused.wait(), PATIENCE)
        except TimeoutError:
            self.widgets_seen = True
            with cell.owning():
                trial.close()
