"""Messages of one cell: each names the cell's own request as its parent, whenever it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import zmq

from ..rendering.plain import encodable
from .vs_code import is_cell

if TYPE_CHECKING:
    from ..rendering.report import Wording

Message = dict[str, Any]
Bundle = dict[str, Any]
Output = tuple[Bundle, dict[str, Any]]
"""The MIME bundle of a display, and its metadata."""

BLANK: Bundle = {"text/plain": "", "text/html": ""}
"""A display without content."""
GUARD_SECONDS = 0.7
"""Long enough to see that something else stands there now, shorter than reading it takes."""

_END_OF_INPUT = "\x04"
_POLL_SECONDS = 0.02


owner: ContextVar[Message | None] = ContextVar("owner", default=None)
"""The request that a widget's messages belong to, whatever message is being handled when they are sent. None outside of
`Cell.owning`."""


@dataclass(frozen=True, slots=True)
class Request:
    """One `execute_request`: the identity of who sent it, and the message itself."""

    ident: Any
    parent: Message


def message_type(session: Any, frames: Any) -> str | None:
    """Return the type of a message as it came from a socket; None if it is unreadable."""
    try:
        _, parts = session.feed_identities(frames, copy=False)
        # Without the content it does not count as received, else the second look would be taken for a replay.
        header = session.deserialize(parts, content=False, copy=False)["header"]
    except Exception:
        return None
    return str(header["msg_type"])


class Kernel(Protocol):
    """Kernel, as a cell needs it: ipykernel's sockets, and whether a click arrives while the cell runs.

    `comm_manager`: see `Cell.front_end`.
    """

    session: Any
    iopub_socket: Any
    stdin_socket: Any
    comm_manager: Any

    @property
    def widgets_work(self) -> bool: ...

    def _topic(self, topic: str) -> bytes: ...


class Cell:
    """One `execute_request`.

    `live`: a user is watching and can be asked; False in a batch run (nbclient, nbval, papermill). `cell_id`: the
    notebook cell; None in a console. `widgets`: widgets may be shown, and clicks on them arrive while the cell runs.
    `guard_seconds`: for how long a click on a guarded answer does not count when its button has moved.
    """

    def __init__(
        self,
        kernel: Kernel,
        request: Request,
        *,
        live: bool,
        cell_id: str | None,
        guard_seconds: float = GUARD_SECONDS,
    ) -> None:
        self._kernel, self.request, self.guard_seconds = kernel, request, guard_seconds
        self._asking = asyncio.Lock()
        # Questions that were withdrawn while the user may have been typing: so many answers may be for those.
        self._outdated = 0
        # The prompt to which the last line of input was empty, as VS Code sends it on Escape.
        self._left_empty = ""
        self.live, self.cell_id = live, cell_id
        self.saved_id = cell_id or ""
        """The cell's id in the notebook; empty if it is not known."""
        self.front_end = kernel.comm_manager
        """The front end's widgets: `widgets_seen` is true once it has shown that it has the extension (before, it may
        have it), `undrawn` once VS Code has not drawn a question's buttons.
        """
        self.widgets = live and cell_id is not None and kernel.widgets_work
        self.session = str(request.parent["header"]["session"])
        """The front end that runs it: the `session` in the header of its messages."""
        self.request_id = str(request.parent["header"]["msg_id"])
        """Another one each time that the cell is run."""
        self.source = str(request.parent.get("content", {}).get("code", ""))
        self.shown: dict[object, Output] = {}
        """The last state of each display, in order."""
        self._errors: list[Message] = []

    @property
    def wording(self) -> Wording:
        """Words for what is typed in such a cell."""
        from ..rendering.report import CELL

        return CELL

    async def widgets_known(self) -> None:
        """Wait until `front_end.widgets_seen` is known, where that is being found out."""

    def display(self, data: Bundle, *, display_id: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        """Show `data`; with a `display_id` it can be updated later."""
        self.shown[display_id or object()] = data, metadata or {}
        self._send("display_data", _output(data, display_id, metadata))

    def update(self, data: Bundle, *, display_id: str, metadata: dict[str, Any] | None = None) -> None:
        """Put `data` in the place of what was displayed with `display_id`."""
        self.shown[display_id] = data, metadata or {}
        self._send("update_display_data", _output(data, display_id, metadata))

    def stream(self, text: str) -> None:
        """Show plain text."""
        self._send("stream", {"name": "stdout", "text": text})

    def error(self, ename: str, evalue: str, traceback: list[str]) -> None:
        """The cell has failed. JupyterLab shows only `traceback`."""
        self._errors.append({"ename": ename, "evalue": evalue, "traceback": traceback})
        self._send("error", self._errors[-1])

    def move(self, request: Request) -> None:
        """Belong to `request` from now on, and show everything once more to who sent it."""
        self.request = request
        for name, (data, metadata) in self.shown.items():
            self._send("display_data", _output(data, name if isinstance(name, str) else None, metadata))
        for content in self._errors:
            self._send("error", content)

    def busy(self) -> None:
        """Send the kernel's status once more: a message that is not shown, but counts as activity."""
        self._send("status", {"execution_state": "busy"})

    @contextmanager
    def owning(self) -> Iterator[None]:
        """Widgets that are made, changed and closed inside belong to this cell."""
        token = owner.set(self.request.parent)
        try:
            yield
        finally:
            owner.reset(token)

    async def input(self, prompt: str) -> str:
        """Ask for a line of text, one at a time; raises EOFError in a batch run, and at the end of input.

        In VS Code that is a second empty line to the same prompt, or to one that says besides what was wrong.
        """
        if not self.live:
            raise EOFError("this front end does not support input requests")
        async with self._asking:
            value = await self._answer(prompt)
        before, self._left_empty = self._left_empty, "" if value else prompt
        if before and not value and prompt.endswith(before) and is_cell(self.cell_id):
            raise EOFError("the box was closed twice")
        return value

    async def _answer(self, prompt: str) -> str:
        kernel, socket = self._kernel, self._kernel.stdin_socket
        self._outdated = max(0, self._outdated - _purge(socket))
        content = encodable({"prompt": prompt, "password": False})
        sent = kernel.session.send(socket, "input_request", content, self.request.parent, ident=self.request.ident)
        try:
            while (value := self._received(sent["header"]["msg_id"])) is None:
                await asyncio.sleep(_POLL_SECONDS)
        except asyncio.CancelledError:
            self._outdated += 1
            raise
        if value == _END_OF_INPUT:
            raise EOFError("the end of input")
        return value

    def _received(self, request_id: str) -> str | None:
        """The reply, if it is there. One that cannot be read, or belongs to another question, counts as none."""
        try:
            _, reply = self._kernel.session.recv(self._kernel.stdin_socket, mode=zmq.NOBLOCK)
        except ValueError:
            return None
        if not reply or self._is_late(reply["parent_header"].get("msg_id"), request_id):
            return None
        value = reply["content"].get("value")
        return value if isinstance(value, str) else None

    def _is_late(self, answered: str | None, request_id: str) -> bool:
        """Return True if a reply answers a question that was withdrawn, or may do so: consoles do not say what they
        answer.
        """
        if answered == request_id:
            return False
        outdated, self._outdated = self._outdated, max(0, self._outdated - 1)
        return answered is not None or outdated > 0

    def _send(self, msg_type: str, content: dict[str, Any]) -> None:
        kernel = self._kernel
        topic = kernel._topic(msg_type)
        kernel.session.send(kernel.iopub_socket, msg_type, encodable(content), self.request.parent, ident=topic)


def _output(data: Bundle, display_id: str | None, metadata: dict[str, Any] | None) -> dict[str, Any]:
    transient = {"display_id": display_id} if display_id else {}
    return {"data": data, "metadata": metadata or {}, "transient": transient}


def _purge(socket: zmq.Socket[bytes]) -> int:
    """Drop the replies to questions that were withdrawn, which must not answer the next one; how many there were."""
    count = 0
    with suppress(zmq.Again):
        while True:
            socket.recv_multipart(zmq.NOBLOCK)
            count += 1
    return count
