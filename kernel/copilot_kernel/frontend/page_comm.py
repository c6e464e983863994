"""The page that shows the notebook: the kernel's end of one comm per page, which stays open.

The page's messages arrive in whatever thread handles comms, also while the user's code blocks the main one: handlers
only pass them on to the agent's loop, to which all other methods belong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import comm
from comm.base_comm import BaseComm
from copilot_widgets.answers import Reply

from ..notebook.live import ChangedMeanwhile, NoPage, NotebookError
from .cell import Message, Request, clean

if TYPE_CHECKING:
    from .permission_question import PermissionQuestion

TARGET = "copilot.notebook"
VERSION = 1
HELLO_SECONDS = 2.0
"""A page with the extension answers in milliseconds; one without refuses; other front ends say nothing."""
CALL_SECONDS = 10.0
GONE = "The page that showed the notebook is gone."
ABSENT = "No page that shows this notebook lets the agent read or change its cells."


class PageComm(BaseComm):
    """Sends with an explicit parent, from any thread.

    ipykernel's own comms have the page's answers handled where something was published last: on the main thread, which
    the user's code may block.
    """

    hears_refusal = True

    def __init__(self, kernel: Any, request: Request, on_message: Callable[[Message], None]) -> None:
        self._kernel, self.request, self._on_message = kernel, request, on_message
        super().__init__(target_name=TARGET, data={"version": VERSION})

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Send on iopub."""
        content = clean({"data": data or {}, "comm_id": self.comm_id, **keys})
        kernel = self._kernel
        kernel.session.send(kernel.iopub_socket, msg_type, content, self.request.parent, ident=self.topic)

    def handle_msg(self, msg: Message) -> None:
        """Pass it on. IPython's events, which the base class triggers, would show unfinished figures."""
        self._on_message(msg)

    def handle_close(self, msg: Message) -> None:
        """Pass it on, but stay open: it may come from another page, which does not know this target."""
        self._closed = False
        comm.get_comm_manager().register_comm(self)  # looked up now: a kernel replaces the function when it starts
        self._on_message(msg)


class Page:
    """One page, from the first cell that asks in it. `kernel` is ipykernel's."""

    def __init__(self, kernel: Any, request: Request) -> None:
        self._kernel, self._loop = kernel, asyncio.get_running_loop()
        self.session = str(request.parent["header"]["session"])
        self.path = ""
        """What the page calls the notebook now."""
        self.has_widgets = True
        """Buttons in cells are shown."""
        self._hello: asyncio.Future[bool] = self._loop.create_future()
        """Whether there is a page with the extension, once that is known."""
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._batch: list[Message] = []
        self._events: dict[str, Message] = {}
        """The last of each kind, until it is known whether there is a page."""
        self._runs: dict[str, asyncio.Future[tuple[Request, str]]] = {}
        self._asked: dict[str, PermissionQuestion] = {}
        self._calls = 0
        self._comm = PageComm(kernel, request, self._receive)

    @property
    def _is_there(self) -> bool:
        return self._hello.done() and self._hello.result()

    @property
    def is_gone(self) -> bool:
        """It has refused the comm, or has not answered."""
        return self._hello.done() and not self._hello.result()

    def belongs_to(self, request: Request) -> bool:
        """Whether it was last asked for the cell of `request`."""
        return self._comm.request is request

    def belong_to(self, request: Request) -> None:
        """What is sent from now on belongs to another cell."""
        self._comm.request = request

    async def known(self) -> bool:
        """Whether the page has answered."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._hello), HELLO_SECONDS)
        except TimeoutError:
            self._leave()
            return False

    async def call(self, op: str, **args: Any) -> dict[str, Any]:
        """The page's reply. Calls that are made together are sent together.

        Raises NoPage, ChangedMeanwhile or another NotebookError.
        """
        if not await self.known():
            raise NoPage(ABSENT)
        self._calls += 1
        number, reply = self._calls, self._loop.create_future()
        self._pending[number] = reply
        if not self._batch:
            self._loop.call_soon(self._flush)
        self._batch.append({"call": number, "op": op, "args": args})
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
            self.post("ask", key=question.key, **question.for_page)
            await self._loop.create_future()
        finally:
            del self._asked[question.key]
            self.post("answered", key=question.key)

    def notify(self, op: str, **args: Any) -> None:
        """Call without waiting for the reply."""
        if self._is_there:
            self._calls += 1
            self._comm.send({"calls": [{"call": self._calls, "op": op, "args": args}]})

    def post(self, event: str, **more: Any) -> None:
        """Tell the page of an event, if there is one: as soon as that is known."""
        if self._is_there:
            self._comm.send({"event": event, **more})
        elif not self._hello.done():
            self._events[event] = {"event": event, **more}

    def close(self) -> None:
        """End the comm."""
        self._leave()
        self._comm.close()

    # -- in whatever thread -------------------------------------------------------------------------------------------

    def _receive(self, message: Message) -> None:
        ident = self._kernel._parent_ident["shell"]
        self._loop.call_soon_threadsafe(self._apply, Request(ident, message))

    # -- on the agent's loop ------------------------------------------------------------------------------------------

    def _apply(self, request: Request) -> None:
        """What is unknown, late or forged is ignored."""
        message = request.parent
        if message["header"]["msg_type"] == "comm_close":
            if message["header"]["session"] == self.session:
                self._leave()
            return
        data = message["content"].get("data")
        match data:
            case {"hello": _, "session": self.session}:
                self.path = str(data.get("path") or "")
                self.has_widgets = data.get("widgets") is not False
                self._settle_hello(True)
                for event in self._events.values():
                    self._comm.send(event)
                self._events.clear()
            case {"run": str(run), "code": str(code)} if (requested := self._runs.get(run)) and not requested.done():
                requested.set_result((request, code))
            case {"path": str(path)} if message["header"]["session"] == self.session:
                self.path = path
            case {"replies": list(replies)}:
                for reply in replies:
                    self._replied(reply)
            case {"answer": str(key), "option": int(option)}:
                self._answered(key, _reply(option, data))

    def _answered(self, key: str, reply: Reply) -> None:
        question = self._asked.get(key)
        if question is None or reply.option not in range(len(question.question.options)):
            return
        if words := question.reply(reply):
            self.post("refused", key=key, words=words)

    def _replied(self, reply: Any) -> None:
        match reply:
            case {"call": int(number), "error": {"kind": kind, "message": message}}:
                error = ChangedMeanwhile if kind == "changed" else NotebookError
                self._settle(number, error=error(str(message)))
            case {"call": int(number)}:
                self._settle(number, result=reply.get("result"))

    def _settle(self, number: int, *, result: Any = None, error: NotebookError | None = None) -> None:
        pending = self._pending.get(number)
        if pending is None or pending.done():
            return
        if error is not None:
            pending.set_exception(error)
        else:
            pending.set_result(result)

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        self._comm.send({"calls": batch})

    def _settle_hello(self, found: bool) -> None:
        if not self._hello.done():
            self._hello.set_result(found)

    def _leave(self) -> None:
        """The page does not answer, or not any more."""
        if self._is_there:
            self._hello = self._loop.create_future()
        self._settle_hello(False)
        for pending in self._pending.values():
            if not pending.done():
                pending.set_exception(NoPage(GONE))


def _reply(option: int, data: Mapping[str, Any]) -> Reply:
    reason, rule = (str(data.get(name) or "").strip() for name in ("reason", "rule"))
    return Reply(option, reason, rule, "settings" if data.get("keep") == "settings" else "session")


class Pages:
    """The pages that have asked, by the session of their messages."""

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}

    def of(self, kernel: Any, request: Request) -> Page:
        """The page that runs the cell; asked again whether it is there if it was not when another cell ran."""
        session = str(request.parent["header"]["session"])
        page = self._pages.pop(session, None)
        if page is not None and page.is_gone and not page.belongs_to(request):
            page.close()
            page = None
        page = page or Page(kernel, request)
        page.belong_to(request)
        self._pages[session] = page
        return page

    def close(self) -> None:
        """End all comms."""
        for page in self._pages.values():
            page.close()
        self._pages.clear()
