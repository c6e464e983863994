"""The cells of a Python notebook and of IPython's terminal: how they send output and ask for input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..output.cell import Cell
from .front_end import WidgetSupport, clicks_arrive, request

if TYPE_CHECKING:
    from ..rendering.report import Wording


@dataclass(frozen=True, slots=True)
class Call:
    """Something to do. `raises`: an interrupt raises inside it, since nothing else would end `input`."""

    function: Callable[[], None]
    raises: bool = False


Calls = SimpleQueue[Call | None]
"""Calls for the thread that waits for the agent; None ends the wait."""


class _StockKernel:
    """ipykernel's kernel with the interface that `Cell` needs. `clicks`: they can arrive while the cell waits."""

    def __init__(self, kernel: Any, widgets: WidgetSupport, clicks: bool) -> None:
        self.session, self.iopub_socket, self.stdin_socket = kernel.session, kernel.iopub_socket, kernel.stdin_socket
        self.comm_manager, self._kernel = widgets, kernel
        self._clicks = clicks and clicks_arrive(kernel)

    @property
    def widgets_work(self) -> bool:
        return self._clicks

    def _topic(self, topic: str) -> bytes:
        name: bytes = self._kernel._topic(topic)
        return name


def magic_wording() -> Wording:
    """The wording of a Python notebook and of IPython's terminal."""
    from ..commands.command_table import TABLE
    from ..rendering.report import Wording

    return Wording(prefix="%copilot %", commands=frozenset(TABLE))


class IPythonCell(Cell):
    """The cell that runs now. `loop` is the kernel's, where the cell is awaited; None where it blocks its thread."""

    def __init__(self, kernel: Any, widgets: WidgetSupport, loop: asyncio.AbstractEventLoop | None) -> None:
        asked = request(kernel)
        content, metadata = asked.parent.get("content", {}), asked.parent.get("metadata") or {}
        live = bool(content.get("allow_stdin"))
        stock = _StockKernel(kernel, widgets, clicks=loop is not None)
        super().__init__(stock, asked, live=live, cell_id=metadata.get("cellId"))
        self._ipykernel, self._widgets, self._loop = kernel, widgets, loop

    @property
    def wording(self) -> Wording:
        """Words for a cell of Python, where commands begin with the magic."""
        return magic_wording()

    async def widgets_known(self) -> None:
        """Wait until it is known whether the front end has widgets."""
        await self._widgets.known()

    @contextmanager
    def owning(self) -> Iterator[None]:
        """ipykernel's comms look into the context for the request that they belong to."""
        parent = self._ipykernel._shell_parent
        token = parent.set(self.request.parent)
        try:
            yield
        finally:
            parent.reset(token)

    async def _answer(self, prompt: str) -> str:
        """Answer on the kernel's loop: the socket is not for two threads."""
        if self._loop is None:
            return await super()._answer(prompt)
        asking = asyncio.run_coroutine_threadsafe(super()._answer(prompt), self._loop)
        return await asyncio.wrap_future(asking)


class ShellCell(Cell):
    """A cell whose output IPython prints or captures. The waiting thread runs `calls`."""

    def __init__(self, shell: Any, calls: Calls, *, live: bool) -> None:
        self._shell, self._calls = shell, calls
        self._asking = asyncio.Lock()
        self.live, self.cell_id, self.widgets = live, None, False
        self.session = self.request_id = self.source = self.saved_id = self._left_empty = ""  # a terminal has none
        self.shown = {}

    @property
    def wording(self) -> Wording:
        """Words for a cell of Python, where commands begin with the magic."""
        return magic_wording()

    @contextmanager
    def owning(self) -> Iterator[None]:
        """There are no widgets."""
        yield

    def _send(self, msg_type: str, content: dict[str, Any]) -> None:
        if msg_type == "stream":
            print(content["text"], end="", flush=True)
        elif msg_type in ("display_data", "update_display_data"):
            self._shell.display_pub.publish(content["data"], content["metadata"])

    async def _answer(self, prompt: str) -> str:
        """Ask on the thread that waits, where Ctrl-C arrives."""
        answer: Future[str] = Future()

        def ask() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(input(prompt))
            except EOFError as end:
                answer.set_exception(end)

        self._calls.put(Call(ask, raises=True))
        return await asyncio.wrap_future(answer)
