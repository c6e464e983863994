"""The cells of a Python notebook and of IPython's terminal: how they send output and ask for input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from ..commands.command_table import TABLE
from ..output.cell import Cell, CellChannel, Message, MessageChannel, Request
from ..rendering.report import Wording
from .front_end import WidgetSupport, clicks_arrive, request


@dataclass(frozen=True, slots=True)
class Call:
    """Something to do. `raises`: an interrupt raises inside it, since nothing else would end `input`."""

    function: Callable[[], None]
    raises: bool = False


Calls = SimpleQueue[Call | None]
"""Calls for the thread that waits for the agent; None ends the wait."""


class PythonChannel(CellChannel):
    """The channel of a cell of a Python notebook or IPython's terminal, where commands begin with the magic."""

    wording = Wording(prefix="%copilot %", commands=frozenset(TABLE))


class StockChannel(PythonChannel, MessageChannel):
    """The channel of a cell that ipykernel runs. `loop` is the kernel's, where the cell is awaited; None where it
    blocks its thread.
    """

    def __init__(self, kernel: Any, widgets: WidgetSupport, loop: asyncio.AbstractEventLoop | None) -> None:
        super().__init__(kernel, widgets if loop is not None and clicks_arrive(kernel) else None)
        self._loop = loop

    async def read_line(self, prompt: str, request: Request) -> str:
        """Ask on the kernel's loop: the socket is not for two threads."""
        if self._loop is None:
            return await super().read_line(prompt, request)
        asking = asyncio.run_coroutine_threadsafe(super().read_line(prompt, request), self._loop)
        return await asyncio.wrap_future(asking)


def notebook_cell(kernel: Any, widgets: WidgetSupport, loop: asyncio.AbstractEventLoop | None) -> Cell:
    """Return the cell that runs now; see `StockChannel`."""
    asked = request(kernel)
    content, metadata = asked.parent.get("content", {}), asked.parent.get("metadata") or {}
    channel = StockChannel(kernel, widgets, loop)
    return Cell(channel, asked, live=bool(content.get("allow_stdin")), cell_id=metadata.get("cellId"))


class ShellChannel(PythonChannel):
    """The channel of a cell whose output IPython prints or captures. The waiting thread runs `calls`."""

    def __init__(self, shell: Any, calls: Calls) -> None:
        self._shell, self._calls = shell, calls

    def send(self, msg_type: str, content: Message, parent: Message) -> None:
        """Print what is shown; nothing else is seen."""
        if msg_type == "stream":
            print(content["text"], end="", flush=True)
        elif msg_type in ("display_data", "update_display_data"):
            self._shell.display_pub.publish(content["data"], content["metadata"])

    async def read_line(self, prompt: str, request: Request) -> str:
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


def shell_cell(shell: Any, calls: Calls, *, live: bool) -> Cell:
    """Return a cell of a terminal, or one whose output is captured; see `ShellChannel`. It has no request."""
    return Cell(ShellChannel(shell, calls), Request(None, {}), live=live, cell_id=None)
