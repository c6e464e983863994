"""The page that shows the notebook: the kernel's end of one comm per page, which stays open.

The page's messages arrive in whatever thread handles comms, also while the user's code blocks the main one: handlers
only pass them on to the agent's loop, to which all other methods belong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import comm
from comm.base_comm import BaseComm
from copilot_widgets.answers import Reply

from ..notebook.live import ChangedMeanwhile, NoPage, NotebookError
from ..output.cell import Message, Request
from ..rendering.plain import encodable

if TYPE_CHECKING:
    from ..views.permission_question import PermissionQuestion

TARGET = "copilot.notebook"
VERSION = 1
LASTING = ("turn", "standing", "questions")
"""Events that say how it is now."""
HELLO_SECONDS = 2.0
"""A page with the extension answers in milliseconds; one without refuses; other front ends say nothing."""
CALL_SECONDS = 10.0
GONE = "The page that showed the notebook is gone."
ABSENT = "No page that shows this notebook lets the agent read or change its cells."


class PageComm(BaseComm):
    """Sends with an explicit parent, from any thread. `receive` is called with the page's messages. `id`: the page has
    opened it.

    ipykernel's own comms have the page's answers handled where something was published last: on the main thread, which
    the user's code may block.
    """

    hears_refusal = True

    def __init__(self, kernel: Any, request: Request, receive: Callable[[Message], None], id: str = "") -> None:
        self._kernel, self.request = kernel, request
        self.receive = receive  # from the beginning: another thread may handle the answer before this one goes on
        if id:
            super().__init__(target_name=TARGET, comm_id=id, primary=False)
            comm.get_comm_manager().register_comm(self)
        else:
            super().__init__(target_name=TARGET, data={"version": VERSION})

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Send on iopub. Its end is an event: of a `comm_close`, every other page would complain in the console."""
        if msg_type == "comm_close":
            msg_type, data = "comm_msg", {"event": "end"}
        content = encodable({"data": data or {}, "comm_id": self.comm_id, **keys})
        kernel = self._kernel
        kernel.session.send(kernel.iopub_socket, msg_type, content, self.request.parent, ident=self.topic)

    def handle_msg(self, msg: Message) -> None:
        """Pass it on. IPython's events, which the base class triggers, would show unfinished figures."""
        self.receive(msg)

    def handle_close(self, msg: Message) -> None:
        """Pass it on, but stay open: it may come from another page, which does not know this target."""
        self._closed = False
        comm.get_comm_manager().register_comm(self)  # looked up now: a kernel replaces the function when it starts
        self.receive(msg)


class Page:
    """One page, from the first cell that asks in it, or from when it has connected with the comm `comm_id`.

    `kernel` is ipykernel's. `on_message` gets the messages that concern no call or question, `on_state` those of
    `LASTING` that the page is sent, and `on_leave` is called when a page that was there leaves.
    """

    def __init__(
        self,
        kernel: Any,
        request: Request,
        on_message: Callable[[Page, Request], None],
        on_state: Callable[[Page, Message], None],
        on_leave: Callable[[Page], None],
        comm_id: str = "",
    ) -> None:
        self._kernel, self._loop = kernel, asyncio.get_running_loop()
        self._on_message, self._on_state, self._on_leave = on_message, on_state, on_leave
        hello = request.parent["content"].get("data") or {} if comm_id else {}
        self.session = str(hello.get("session") or request.parent["header"]["session"])
        self._sender = ""
        """The session of the page's messages: that of another notebook of the page, if that carries the comm."""
        self.path = ""
        """Path of the notebook as the page calls it now."""
        self.has_widgets = True
        """Buttons in cells are shown."""
        self._known = asyncio.Event()
        """Set once the page has answered, or has been taken for gone."""
        self._there = asyncio.Event()
        """Set while there is a page with the extension."""
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._events: dict[str, Message] = {}
        """The last of each kind: until it is known whether there is a page, and then only of `LASTING` ones."""
        self._runs: dict[str, asyncio.Future[tuple[Request, str]]] = {}
        self._asked: dict[str, PermissionQuestion] = {}
        self._numbers = count(1)
        self._comm = PageComm(kernel, request, self._receive, comm_id)
        if comm_id:
            self._apply(request)

    @property
    def is_there(self) -> bool:
        """True if the page has answered, and has not gone since."""
        return self._there.is_set()

    @property
    def is_gone(self) -> bool:
        """True if the page has refused the comm, or has not answered."""
        return self._known.is_set() and not self._there.is_set()

    def belong_to(self, request: Request) -> None:
        """Send on behalf of another cell from now on."""
        self._comm.request = request

    async def known(self) -> bool:
        """Return True once the page has answered, False if it has gone or does not answer in time."""
        try:
            await asyncio.wait_for(self._known.wait(), HELLO_SECONDS)
        except TimeoutError:
            self._leave()
        return self.is_there

    async def arrives(self) -> None:
        """Wait until the page is there, however late, or another one in its place."""
        await self._there.wait()

    async def check(self) -> None:
        """Find out whether the page is still there."""
        try:
            with suppress(NotebookError):
                await asyncio.wait_for(self.call("read", ids=[]), HELLO_SECONDS)
        except TimeoutError:
            self._leave()

    def become(self, other: Page) -> None:
        """Be the page `other` from now on, for all who know this one; tell it how it is now."""
        self.close()
        self.session, self.path, self.has_widgets = other.session, other.path, other.has_widgets
        self._comm, self._sender = other._comm, other._sender
        self._comm.receive = self._receive
        self._arrive()

    async def call(self, op: str, **args: Any) -> dict[str, Any]:
        """Return the page's reply. Raises NoPage, ChangedMeanwhile or another NotebookError."""
        if not await self.known():
            raise NoPage(ABSENT)
        number, reply = next(self._numbers), self._loop.create_future()
        self._pending[number] = reply
        self._comm.send({"calls": [{"call": number, "op": op, "args": args}]})
        try:
            result = await asyncio.wait_for(reply, CALL_SECONDS)
        except TimeoutError:
            self._leave()
            raise NoPage(GONE) from None
        finally:
            self._pending.pop(number, None)
        return result if isinstance(result, dict) else {}

    async def run(self, id: str, expected: str, run: str) -> tuple[Request, str]:
        """Have the page send its request to run a cell; that request, and the code in it. `run` is a token."""
        requested: asyncio.Future[tuple[Request, str]] = self._loop.create_future()
        self._runs[run] = requested
        try:
            await self.call("run", id=id, expected=expected, run=run)
            return await asyncio.wait_for(requested, CALL_SECONDS)
        except TimeoutError:
            raise NoPage(GONE) from None
        finally:
            del self._runs[run]

    async def ask(self, question: PermissionQuestion) -> None:
        """Show `question` in the page until this is cancelled; what the user chooses there is the reply to it."""
        self._asked[question.key] = question
        try:
            if self.is_there:
                self._comm.send(_ask(question))
            await self._loop.create_future()
        finally:
            del self._asked[question.key]
            self.post("answered", key=question.key)

    def post(self, event: str, **more: Any) -> None:
        """Tell the page of an event, if there is one: as soon as that is known."""
        message = {"event": event, **more}
        if event in LASTING or not self._known.is_set():
            self._events[event] = message
        if self.is_there:
            self._send(message)

    @property
    def state(self) -> list[Message]:
        """What it was told last of each of `LASTING`."""
        return [message for event, message in self._events.items() if event in LASTING]

    def show_elsewhere(self, state: Iterable[Message]) -> None:
        """Show what another page of the notebook was told of these."""
        for message in state if self.is_there else ():
            self._comm.send({**message, "elsewhere": True})

    def close(self) -> None:
        """End the comm."""
        self._lose()
        self._comm.close()

    # -- in whatever thread -------------------------------------------------------------------------------------------

    def _receive(self, message: Message) -> None:
        ident = self._kernel._parent_ident["shell"]
        self._loop.call_soon_threadsafe(self._apply, Request(ident, message))

    # -- on the agent's loop ------------------------------------------------------------------------------------------

    def _apply(self, request: Request) -> None:
        """Apply a message; ignore what is unknown, late or forged."""
        message = request.parent
        data, sender = message["content"].get("data"), message["header"]["session"]
        match data:
            case {"hello": _, "session": self.session} if self._sender in ("", sender):
                self._sender = sender
                self.path = str(data.get("path") or "")
                self.has_widgets = data.get("widgets") is not False
                self._arrive()
            case _ if sender != (self._sender or self.session):
                return
            case _ if message["header"]["msg_type"] == "comm_close":
                self._leave()
            case {"run": str(run), "code": str(code)} if (requested := self._runs.get(run)) and not requested.done():
                requested.set_result((request, code))
            case {"path": str(path)}:
                self.path = path
            case {"replies": list(replies)}:
                for reply in replies:
                    self._replied(reply)
            case {"answer": str(key), "option": int(option)}:
                self._answered(key, _reply(option, data))
            case _:
                self._on_message(self, request)

    def _answered(self, key: str, reply: Reply) -> None:
        question = self._asked.get(key)
        if question is None or reply.option not in range(len(question.question.options)):
            return
        if words := question.reply(reply):
            self.post("refused", key=key, words=words)

    def _replied(self, reply: Any) -> None:
        match reply:
            case {"call": int(number)} if (pending := self._pending.get(number)) and not pending.done():
                match reply.get("error"):
                    case {"kind": kind, "message": message}:
                        error = ChangedMeanwhile if kind == "changed" else NotebookError
                        pending.set_exception(error(str(message)))
                    case _:
                        pending.set_result(reply.get("result"))

    def _arrive(self) -> None:
        """The page is there, perhaps so late that it was taken for gone: send it the current state."""
        self._there.set()
        self._known.set()
        for message in (*self._events.values(), *map(_ask, self._asked.values())):
            self._send(message)
        self._events = {event: message for event, message in self._events.items() if event in LASTING}

    def _send(self, message: Message) -> None:
        self._comm.send(message)
        if message["event"] in LASTING:
            self._on_state(self, message)

    def _leave(self) -> None:
        """The page does not answer, or not any more."""
        was_there = self.is_there
        self._lose()
        if was_there:
            self._on_leave(self)

    def _lose(self) -> None:
        self._there.clear()
        self._known.set()
        for pending in self._pending.values():
            if not pending.done():
                pending.set_exception(NoPage(GONE))


def _reply(option: int, data: Mapping[str, Any]) -> Reply:
    reason, rule = (str(data.get(name) or "").strip() for name in ("reason", "rule"))
    return Reply(option, reason, rule, "settings" if data.get("keep") == "settings" else "session")


def _ask(question: PermissionQuestion) -> Message:
    return {"event": "ask", "key": question.key, **question.for_page}
