"""One cell: what it shows, and the lines that it asks for. Everything belongs to its own request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import zmq
from copilot_widgets.answers import GUARD_SECONDS

from ..rendering.plain import encodable
from ..rendering.report import CELL, Wording
from .vs_code import traits_of

Message = dict[str, Any]
Bundle = dict[str, Any]
Output = tuple[Bundle, dict[str, Any]]
"""The MIME bundle of a display, and its metadata."""

BLANK: Bundle = {"text/plain": "", "text/html": ""}
"""A display without content."""


_END_OF_INPUT = "\x04"
_POLL_SECONDS = 0.02


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


class CellChannel(Protocol):
    """How a cell reaches its front end. `parent` is the request that a message belongs to."""

    front_end: Any = None
    """The front end's widgets; None where a click on one would not arrive while the cell runs.

    `widgets_seen` is true once it has shown that it has the extension (before, it may have it), which `await known()`
    waits for where that is being found out; `undrawn` once it has not drawn a question's buttons.
    """

    wording: Wording = CELL
    """Words for what is typed in such a cell."""

    def send(self, msg_type: str, content: Message, parent: Message) -> None:
        """Send a message."""

    async def read_line(self, prompt: str, request: Request) -> str:
        """Ask who sent `request` for a line of text. Raises EOFError at the end of input."""

    def owning(self, parent: Message) -> AbstractContextManager[None]:
        """Widgets that are made, changed and closed inside belong to `parent`."""
        return nullcontext()


class MessageChannel(CellChannel):
    """The channel of one cell: the sockets of ipykernel's `kernel`. `front_end`: see `CellChannel`."""

    def __init__(self, kernel: Any, front_end: Any) -> None:
        self._kernel, self.front_end = kernel, front_end
        # Questions that were withdrawn while the user may have been typing: so many answers may be for those.
        self._outdated = 0

    def send(self, msg_type: str, content: Message, parent: Message) -> None:
        """Send a message on IOPub."""
        kernel = self._kernel
        topic = kernel._topic(msg_type)
        kernel.session.send(kernel.iopub_socket, msg_type, encodable(content), parent, ident=topic)

    @contextmanager
    def owning(self, parent: Message) -> Iterator[None]:
        """Comms look into the context for the request that they belong to."""
        shell_parent: ContextVar[Message] = self._kernel._shell_parent
        token = shell_parent.set(parent)
        try:
            yield
        finally:
            shell_parent.reset(token)

    async def read_line(self, prompt: str, request: Request) -> str:
        """Ask as `CellChannel` says. A reply counts only if it is one to this question."""
        kernel, socket = self._kernel, self._kernel.stdin_socket
        self._outdated = max(0, self._outdated - _purge(socket))
        content = encodable({"prompt": prompt, "password": False})
        sent = kernel.session.send(socket, "input_request", content, request.parent, ident=request.ident)
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


class Cell:
    """One `execute_request`.

    `live`: a user is watching and can be asked; False in a batch run (nbclient, nbval, papermill). `cell_id`: the
    notebook cell; None in a console. `guard_seconds`: for how long a click on a guarded answer does not count when its
    button has moved.
    """

    server_run = False
    """A server runs it for the user of a page, who is asked there alone: the cell is drawn as in a batch run."""

    def __init__(
        self,
        channel: CellChannel,
        request: Request,
        *,
        live: bool,
        cell_id: str | None,
        guard_seconds: float = GUARD_SECONDS,
    ) -> None:
        self._channel, self.request, self.guard_seconds = channel, request, guard_seconds
        self._asking = asyncio.Lock()
        # The prompt to which the last line of input was empty.
        self._left_empty = ""
        self.live, self.cell_id, self.wording = live, cell_id, channel.wording
        self.saved_id = cell_id or ""
        """The cell's id in the notebook; empty if it is not known."""
        self.traits, self.front_end = traits_of(cell_id), channel.front_end
        self.widgets = live and cell_id is not None and channel.front_end is not None
        """Widgets may be shown, and clicks on them arrive while the cell runs."""
        header = request.parent.get("header", {})
        self.session = str(header.get("session", ""))
        """The front end that runs it: the `session` in the header of its messages; empty in a terminal."""
        self.request_id = str(header.get("msg_id", ""))
        """Another one each time that the cell is run."""
        self.source = str(request.parent.get("content", {}).get("code", ""))
        self.shown: dict[object, Output] = {}
        """The last state of each display, in order."""
        self._errors: list[Message] = []

    def watch(self, cell_id: str) -> None:
        """Note that the user of a page watches it, and a server runs it. `cell_id` is empty if it is not known."""
        self.live = self.server_run = True
        self.cell_id, self.saved_id = cell_id or None, cell_id

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

    def owning(self) -> AbstractContextManager[None]:
        """Widgets that are made, changed and closed inside belong to this cell."""
        return self._channel.owning(self.request.parent)

    async def input(self, prompt: str) -> str:
        """Ask for a line of text, one at a time; raises EOFError in a batch run, and at the end of input.

        Where it is asked apart from the cell, that is a second empty line to the same prompt, or to one that says
        besides what was wrong.
        """
        if not self.live:
            raise EOFError("this front end does not support input requests")
        async with self._asking:
            value = await self._channel.read_line(prompt, self.request)
        before, self._left_empty = self._left_empty, "" if value else prompt
        if before and not value and prompt.endswith(before) and self.traits.asks_apart:
            raise EOFError("the box was closed twice")
        return value

    def _send(self, msg_type: str, content: Message) -> None:
        self._channel.send(msg_type, content, self.request.parent)


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
