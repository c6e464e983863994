"""What a kernel or a server and a page that shows a notebook say to each other, and how: calls and replies, questions
and answers, events. A `PageChannel` carries it. All methods belong to the agent's loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from copilot_widgets.answers import Reply

from ..notebook.live import ChangedMeanwhile, NoPage, NotebookError

if TYPE_CHECKING:
    from ..output.cell import Message, Request
    from ..views.open_question import OpenQuestion

LASTING = ("turn", "standing", "questions")
"""Events that say how it is now."""
HELLO_SECONDS = 2.0
"""A page with the extension answers in milliseconds; one without refuses; other front ends say nothing."""
CALL_SECONDS = 10.0
GONE = "The page that showed the notebook is gone."
ABSENT = "No page that shows this notebook lets the agent read or change its cells."


class PageChannel(Protocol):
    """The connection to one page. `session` identifies the page."""

    session: str

    def send(self, data: Message) -> None:
        """Send to the page."""

    def receive(self, received: Callable[[Message, Request | None], None], closed: Callable[[], None]) -> None:
        """Call `received` with each message of the page from now on, and `closed` when the page has closed the channel.

        The request is the Jupyter message that carried it, if one did: outputs can have it as their parent.
        """

    def close(self) -> None:
        """Close it."""


class Page:
    """One page at the other end of `channel`, which may have said `hello`.

    `path` is what it calls the notebook now, `has_widgets` whether it shows buttons in cells.
    `on_message` gets the messages that concern no call or question, `on_state` those of `LASTING` that the page is
    sent, and `on_leave` is called when a page that was there leaves.
    """

    def __init__(
        self,
        channel: PageChannel,
        on_message: Callable[[Page, Message, Request | None], None],
        on_state: Callable[[Page, Message], None],
        on_leave: Callable[[Page], None],
        hello: Message | None = None,
    ) -> None:
        self._on_message, self._on_state, self._on_leave = on_message, on_state, on_leave
        self.path, self.has_widgets = "", True
        # Set once the page has answered, or has been taken for gone.
        self._known = asyncio.Event()
        # Set while there is a page with the extension.
        self._there = asyncio.Event()
        self._pending: dict[int, asyncio.Future[Any]] = {}
        # The last of each kind: until it is known whether there is a page, and then only of `LASTING` ones.
        self._events: dict[str, Message] = {}
        self._runs: dict[str, asyncio.Future[tuple[Request | None, str]]] = {}
        self._asked: dict[str, OpenQuestion[Any]] = {}
        self._numbers = count(1)
        self._connect(channel)
        if hello is not None:
            self._receive(hello, None)

    def _connect(self, channel: PageChannel) -> None:
        self._channel, self.session = channel, channel.session
        channel.receive(self._receive, self._leave)

    @property
    def is_there(self) -> bool:
        """True if the page has answered, and has not gone since."""
        return self._there.is_set()

    @property
    def is_gone(self) -> bool:
        """True if the page has refused the comm, or has not answered."""
        return self._known.is_set() and not self._there.is_set()

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
        await self._reply_soon("read", ids=[])

    async def claim(self, source: str) -> str:
        """Return the cell with this source that was run in the page; empty if there is none."""
        return str((await self._reply_soon("claim", source=source)).get("cell") or "")

    async def _reply_soon(self, op: str, **args: Any) -> dict[str, Any]:
        """Return the page's reply, empty if it refuses. A page that does not answer soon is gone."""
        try:
            with suppress(NotebookError):
                return await asyncio.wait_for(self.call(op, **args), HELLO_SECONDS)
        except TimeoutError:
            self._leave()
        return {}

    def become(self, other: Page) -> None:
        """Be the page `other` from now on, for all who know this one; tell it how it is now."""
        self.close()
        self.path, self.has_widgets = other.path, other.has_widgets
        self._connect(other._channel)
        self._arrive()

    async def call(self, op: str, **args: Any) -> dict[str, Any]:
        """Return the page's reply. Raises NoPage, ChangedMeanwhile or another NotebookError."""
        if not await self.known():
            raise NoPage(ABSENT)
        number, reply = next(self._numbers), asyncio.get_running_loop().create_future()
        self._pending[number] = reply
        self._channel.send({"calls": [{"call": number, "op": op, "args": args}]})
        try:
            result = await asyncio.wait_for(reply, CALL_SECONDS)
        except TimeoutError:
            self._leave()
            raise NoPage(GONE) from None
        finally:
            self._pending.pop(number, None)
        return result if isinstance(result, dict) else {}

    async def run(self, id: str, expected: str, run: str) -> tuple[Request | None, str]:
        """Have the page send its request to run a cell; that request, and the code in it. `run` is a token."""
        requested: asyncio.Future[tuple[Request | None, str]] = asyncio.get_running_loop().create_future()
        self._runs[run] = requested
        try:
            await self.call("run", id=id, expected=expected, run=run)
            return await asyncio.wait_for(requested, CALL_SECONDS)
        except TimeoutError:
            raise NoPage(GONE) from None
        finally:
            del self._runs[run]

    async def ask(self, question: OpenQuestion[Any]) -> None:
        """Show `question` in the page until this is cancelled; what the user chooses there is the reply to it."""
        self._asked[question.key] = question
        try:
            if self.is_there:
                self._channel.send(_ask(question))
            await asyncio.get_running_loop().create_future()
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
            self._channel.send({**message, "elsewhere": True})

    def close(self) -> None:
        """End the connection."""
        self._lose()
        self._channel.close()

    # -- what the page says -------------------------------------------------------------------------------------------

    def _receive(self, data: Any, request: Request | None) -> None:
        """Apply a message; ignore what is unknown, late or forged."""
        match data:
            case {"hello": _}:
                self.path = str(data.get("path") or "")
                self.has_widgets = data.get("widgets") is not False
                self._arrive()
            case {"run": str(run), "code": str(code)} if (requested := self._runs.get(run)) and not requested.done():
                requested.set_result((request, code))
            case {"path": str(path)}:
                self.path = path
            case {"replies": list(replies)}:
                for reply in replies:
                    self._replied(reply)
            case {"answer": str(key), "option": int(option)}:
                self._answered(key, option, data)
            case _:
                self._on_message(self, data, request)

    def _answered(self, key: str, option: int, data: Mapping[str, Any]) -> None:
        question = self._asked.get(key)
        if question is None or question.answers is None or option not in question.answers.options:
            return
        reason, rule = (str(data.get(name) or "").strip() for name in ("reason", "rule"))
        reply = Reply(option, reason, rule, "settings" if data.get("keep") == "settings" else "session")
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
        self._channel.send(message)
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


def _ask(question: OpenQuestion[Any]) -> Message:
    return {"event": "ask", "key": question.key, **question.for_page}
