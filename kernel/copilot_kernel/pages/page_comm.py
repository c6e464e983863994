"""The pages of a kernel, each behind an ipykernel comm, which stays open.

A page's messages arrive in whatever thread handles comms, also while the user's code blocks the main one: handlers only
pass them on to the agent's loop, to which all other methods belong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import comm
from comm.base_comm import BaseComm

from ..output.cell import Message, Request
from ..rendering.plain import encodable
from .page import PageChannel

TARGET = "copilot.notebook"
VERSION = 1


class PageComms:
    """The comms between one kernel, ipykernel's, and its pages. `loop` is the agent's; None as long as no
    page is accepted.

    `parent` is the request that all messages belong to: that of the cell that asked last; empty before the first one.
    """

    loop: asyncio.AbstractEventLoop | None = None

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.parent = kernel, Message()

    def accept(self, connected: Callable[[PageChannel, Message], None]) -> None:
        """Call `connected` with each comm that a page opens, and what it says first."""
        self._connected = connected
        comm.get_comm_manager().register_target(TARGET, self._opened)

    def open(self, session: str) -> PageChannel:
        """Open a comm to the page whose messages have this session."""
        self.loop = asyncio.get_running_loop()
        return PageComm(self, session)

    def close(self) -> None:
        """Accept no more."""
        comm.get_comm_manager().unregister_target(TARGET, self._opened)

    def _opened(self, opened: Any, message: Message) -> None:
        """Accept the comm of a page that has connected. Runs in the thread that handles comms."""
        if self.loop is None:
            opened.close()  # no page has run a cell: nothing was missed
            return
        opened._closed = True  # a `PageComm` serves it from now on; this would close it when it is collected
        hello, sender = message["content"].get("data") or {}, message["header"]["session"]
        channel = PageComm(self, str(hello.get("session") or sender), sender, opened.comm_id)
        self.loop.call_soon_threadsafe(self._connected, channel, hello)


class PageComm(BaseComm):
    """A channel to the page `session`. `id`: the page has opened it, and `sender` is the session of its messages: that
    of another notebook of the page, if that carries the comm.

    Sends with an explicit parent, from any thread: ipykernel's own comms have the page's answers handled where
    something was published last, on the main thread, which the user's code may block.
    """

    hears_refusal = True

    def __init__(self, comms: PageComms, session: str, sender: str = "", id: str = "") -> None:
        self._comms, self.session, self._sender = comms, session, sender
        if id:
            super().__init__(target_name=TARGET, comm_id=id, primary=False)
            comm.get_comm_manager().register_comm(self)
        else:
            super().__init__(target_name=TARGET, data={"version": VERSION})

    def receive(self, received: Callable[[Message, Request | None], None], closed: Callable[[], None]) -> None:
        """Pass on the page's messages, as `PageChannel` says."""
        self._received, self._left = received, closed

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Send on iopub. Its end is an event: of a `comm_close`, every other page would complain in the console."""
        if msg_type == "comm_close":
            msg_type, data = "comm_msg", {"event": "end"}
        content = encodable({"data": data or {}, "comm_id": self.comm_id, **keys})
        kernel = self._comms.kernel
        kernel.session.send(kernel.iopub_socket, msg_type, content, self._comms.parent, ident=self.topic)

    def handle_msg(self, msg: Message) -> None:
        """Pass it on. IPython's events, which the base class triggers, would show unfinished figures."""
        request = Request(self._comms.kernel._parent_ident["shell"], msg)
        assert self._comms.loop is not None
        self._comms.loop.call_soon_threadsafe(self._apply, request)

    def handle_close(self, msg: Message) -> None:
        """Pass it on, but stay open: it may come from another page, which does not know this target."""
        self._closed = False
        comm.get_comm_manager().register_comm(self)  # looked up now: a kernel replaces the function when it starts
        self.handle_msg(msg)

    def _apply(self, request: Request) -> None:
        """Pass on what comes from the page that it was opened for: all pages know the comm."""
        data, header = request.parent["content"].get("data"), request.parent["header"]
        match data:
            case {"hello": _, "session": self.session} if self._sender in ("", header["session"]):
                self._sender = header["session"]
            case {"hello": _}:
                return
            case _ if header["session"] != (self._sender or self.session):
                return
        if header["msg_type"] == "comm_close":
            self._left()
        else:
            self._received(data, request)
