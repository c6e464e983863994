"""Routes between one agent and several kernels: each session has one owner, who gets all that belongs to it.

Lines come in and go out; nothing waits. The broker answers the agent only for kernels that have left, always with
`cancelled` or an error: rules and questions are the kernels' business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Raw

from ..acp.jsonrpc import AUTH_REQUIRED, CANCELLED, IN_USE, IN_USE_MESSAGE, NOT_FOUND, Id, Line
from . import wire
from .pending_questions import BrokerKernel, Host, PendingQuestions
from .wire import WireMessage

WITHDRAWN = "Request cancelled"
NOT_OPEN = "This session is not open in this notebook."
HUNG = "one of its sessions did not stop in time"
ASKED_TO_END = "it was asked to end"
_OPENING = ("session/load", "session/resume")
_BEGINNING = ("session/new", "session/fork")
"""The agent chooses the session's id."""
_ENDING = ("session/close", "session/delete")
CLOSE_SECONDS = 10.0
"""Time for the agent to close a session, in seconds."""


@dataclass(slots=True, eq=False)
class _Session:
    """A session and its kernel; without one, it is being closed, and `waiting` are requests to open it again then."""

    id: str
    owner: BrokerKernel | None
    prompts: int = 0
    running: int = 0
    """Requests in it that the agent has, prompts included."""
    given_up: bool = False
    waiting: list[tuple[BrokerKernel, Id, bytes]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Request:
    """A request that the agent has, from a kernel or, without one, from the broker."""

    kernel: BrokerKernel | None
    id: Id
    method: str
    session: _Session | None = None
    opens: bool = False
    """The request made its kernel the owner of the session."""


class Broker:
    """`answer_form` is how permission requests are answered; see `dialects.permission_answer`."""

    def __init__(self, host: Host, answer_form: str = "nested") -> None:
        self.kernels: list[BrokerKernel] = []
        self.retiring = False
        self._host = host
        self._requests: dict[int, _Request] = {}
        self._number = 0
        self._sessions: dict[str, _Session] = {}
        self._questions = PendingQuestions(host, answer_form)
        self._beginning = 0
        """Requests whose answers name new sessions, also those of kernels that have left."""
        self._introduction: WireMessage | None = None
        self._introducing: list[tuple[BrokerKernel, Id]] = []
        self._can_close = False

    @property
    def is_ready(self) -> bool:
        """The agent has answered `initialize`."""
        return self._introduction is not None

    @property
    def open_sessions(self) -> set[str]:
        """The ids of the sessions that kernels own."""
        return {session.id for session in self._sessions.values() if session.owner is not None}

    # -- kernels ----------------------------------------------------------------------------------------------------

    def join(self, kernel: BrokerKernel) -> None:
        """A kernel has connected."""
        self.kernels.append(kernel)
        self._count()

    def leave(self, kernel: BrokerKernel) -> None:
        """Remove a kernel whose connection has ended: cancel its turns and questions, close its sessions."""
        if kernel not in self.kernels:
            return
        self.kernels.remove(kernel)
        was_introducing = any(each is kernel for each, _ in self._introducing)
        self._introducing = [each for each in self._introducing if each[0] is not kernel]
        for session in [each for each in self._sessions.values() if each.owner is kernel]:
            self._abandon(session, kernel.grace)
        self._questions.leave(kernel)
        for session in self._sessions.values():
            session.waiting = [each for each in session.waiting if each[0] is not kernel]
        self._count()
        if not self.kernels and (self.retiring or was_introducing):
            self.retire()

    def retire(self, kernel: BrokerKernel | None = None) -> None:
        """End the agent if nobody but `kernel` uses it; else only disconnect that one, and take no more."""
        self.take_no_more()
        if all(each is kernel for each in self.kernels):
            self._host.end(ASKED_TO_END)
        elif kernel is not None:
            kernel.disconnect(ASKED_TO_END)

    def take(self, kernel: BrokerKernel, line: Line) -> None:
        """A line from a kernel."""
        message = wire.read(line)
        if message is None:
            return
        if not message.method:
            self._questions.answer(kernel, message, line)
        elif message.has_id:
            self._take_request(kernel, message, line)
        elif message.method == wire.CANCEL:
            self._cancel_request(kernel, wire.named(message.params).request)
        elif message.method == wire.RETIRE:
            self.retire(kernel)
        elif not (session := wire.named(message.params).session) or self._owner(session) is kernel:
            self._host.send(wire.whole(line))

    def _take_request(self, kernel: BrokerKernel, message: WireMessage, line: Line) -> None:
        method, id = message.method, wire.named(message.params).session
        session = self._sessions.get(id) if id else None
        if method == "initialize":
            self._introduce(kernel, message)
        elif session and session.owner is None and not session.given_up and method in (*_OPENING, "session/delete"):
            session.waiting.append((kernel, wire.id_of(message), bytes(line)))
        elif session and session.owner is not kernel:
            kernel.send(wire.failure(message.id, IN_USE, IN_USE_MESSAGE))
        elif id and session is None and method not in (*_OPENING, *_ENDING):
            kernel.send(wire.failure(message.id, NOT_FOUND, NOT_OPEN))
        else:
            opens = method in _OPENING and session is None
            if opens:
                session = self._own(id, kernel)
            self._beginning += method in _BEGINNING
            self._request(_Request(kernel, wire.id_of(message), method, session, opens), message.params)

    def _cancel_request(self, kernel: BrokerKernel, id: Id) -> None:
        for number, request in self._requests.items():
            if request.kernel is kernel and request.id == id:
                self._host.send(wire.notification(wire.CANCEL, {"requestId": number}))
        for session in self._sessions.values():
            for each in [each for each in session.waiting if each[:2] == (kernel, id)]:
                session.waiting.remove(each)
                kernel.send(wire.failure(id, CANCELLED, WITHDRAWN))

    def _request(self, request: _Request, params: Raw) -> None:
        self._number += 1
        self._requests[self._number] = request
        if request.session is not None:
            request.session.running += 1
            request.session.prompts += request.method == "session/prompt"
        self._host.send(wire.request(self._number, request.method, params))

    def _introduce(self, kernel: BrokerKernel, message: WireMessage) -> None:
        """All kernels of one agent send the same `initialize`; the agent gets the first."""
        if self._introduction is not None:
            kernel.send(wire.answer(message.id, self._introduction))
            return
        self._introducing.append((kernel, wire.id_of(message)))
        if len(self._introducing) == 1:
            self._request(_Request(None, None, "initialize"), message.params)

    # -- sessions ---------------------------------------------------------------------------------------------------

    def _own(self, id: str, kernel: BrokerKernel) -> _Session:
        session = self._sessions[id] = _Session(id, kernel)
        return session

    def _abandon(self, session: _Session, grace: float) -> None:
        """Cancel what a session of a kernel that has left is doing. Anything but a turn ends by itself."""
        session.owner = None
        if session.prompts:
            self._host.send(wire.notification("session/cancel", {"sessionId": session.id}))
            self._host.later(grace, lambda: self._check_stopped(session))
        self._close_when_idle(session)

    def _close_when_idle(self, session: _Session) -> None:
        if session.owner is not None or session.running:
            return
        if self._can_close:
            closing = _Request(None, None, "session/close", session)
            self._request(closing, wire.params({"sessionId": session.id}))
            self._host.later(CLOSE_SECONDS, lambda: self._check_closed(session))
        else:
            self._forget(session)

    def _forget(self, session: _Session) -> None:
        """The agent has closed it. What a kernel wanted of it meanwhile is done now."""
        del self._sessions[session.id]
        for kernel, _, line in session.waiting:
            self.take(kernel, line)

    def _check_stopped(self, session: _Session) -> None:
        if session.prompts:
            self._give_up(session)

    def _check_closed(self, session: _Session) -> None:
        if self._sessions.get(session.id) is session:
            self._give_up(session)

    def _give_up(self, session: _Session) -> None:
        """A turn that does not end costs its own session, and nobody else's; nobody new gets such an agent."""
        session.given_up = True
        waiting = [kernel for kernel, _, _ in session.waiting]
        if all(kernel in waiting for kernel in self.kernels):
            self._host.end(HUNG)
            return
        self.take_no_more()
        for kernel in waiting:
            kernel.disconnect(HUNG)

    def take_no_more(self) -> None:
        """The next kernel gets another broker; this one ends with its last kernel."""
        if not self.retiring:
            self.retiring = True
            self._host.give_up_socket()

    # -- the agent --------------------------------------------------------------------------------------------------

    def take_from_agent(self, line: Line) -> None:
        """A line from the agent."""
        message = wire.read(line)
        if message is None:
            return
        if not message.method:
            self._settle(message)
        elif message.method == wire.CANCEL:
            self._questions.withdraw(message, line)
        else:
            self._deliver(wire.named(message.params).session, message, wire.whole(line))

    def _settle(self, message: WireMessage) -> None:
        """An answer of the agent's."""
        request = self._requests.pop(_number(message.id), None)
        if request is None:
            return
        if request.method == "initialize":
            self._introduced(message)
            return
        if message.failed and wire.named(message.error).code == AUTH_REQUIRED:
            self.take_no_more()  # an agent reads its credentials when it starts
        session = request.session
        if session is not None:
            session.running -= 1
            session.prompts -= request.method == "session/prompt"
        if request.method in _BEGINNING:
            self._begun(request, message)
        if kernel := self._present(request.kernel):
            kernel.send(wire.answer(request.id, message))
        if session is not None and self._sessions.get(session.id) is session:
            is_unknown = message.failed and wire.named(message.error).code == NOT_FOUND
            self._after(request, session, failed=message.failed and not (request.method in _ENDING and is_unknown))

    def _after(self, request: _Request, session: _Session, *, failed: bool) -> None:
        if (request.method in _ENDING and (not failed or request.kernel is None)) or (request.opens and failed):
            self._forget(session)
        else:
            self._close_when_idle(session)

    def _introduced(self, message: WireMessage) -> None:
        waiting, self._introducing = self._introducing, []
        if not message.failed:
            self._introduction, self._can_close = message, wire.can_close(message.result)
        for kernel, id in waiting:
            kernel.send(wire.answer(id, message))

    def _begun(self, request: _Request, message: WireMessage) -> None:
        """A new session has an id, and so what came for it early an owner."""
        kernel, id = request.kernel, wire.named(message.result).session
        assert kernel is not None
        self._beginning -= 1
        session = None if message.failed or not id or id in self._sessions else self._own(id, kernel)
        for each in self._questions.early(None if self._beginning == 0 else id):
            self._deliver(*each)
        if session is not None and kernel not in self.kernels:
            self._abandon(session, kernel.grace)

    def _deliver(self, id: str, message: WireMessage, line: bytes) -> None:
        """A request or notification of the agent's goes to the session's owner.

        Agents speak of a session before they have sent its id. That waits, since each kernel has rules of its own,
        and the wrong ones must not decide.
        """
        if not message.has_id and not id and message.method != "session/update":
            for each in self.kernels:
                each.send(line)
        elif id and id not in self._sessions and self._beginning:
            self._questions.keep(id, message, line)
        else:
            owner = self._owner(id) if id else self._addressee(message)
            self._questions.pass_on(self._present(owner), message, line)

    def _owner(self, id: str) -> BrokerKernel | None:
        session = self._sessions.get(id)
        return session.owner if session else None

    def _addressee(self, message: WireMessage) -> BrokerKernel | None:
        """Return the kernel for a message that names no session: that of the request it is about, or the only possible
        one.
        """
        if request := self._requests.get(_number(wire.named(message.params).request)):
            return request.kernel
        with_turns = {each.kernel for each in self._requests.values() if each.method == "session/prompt"}
        with_requests = {each.kernel for each in self._requests.values()}
        possible = with_turns or with_requests or self.kernels
        return next(iter(possible)) if len(possible) == 1 else None

    def _present(self, kernel: BrokerKernel | None) -> BrokerKernel | None:
        return kernel if kernel in self.kernels else None

    def _count(self) -> None:
        line = wire.notification(wire.CLIENTS, {"count": len(self.kernels)})
        for kernel in self.kernels:
            kernel.send(line)


def _number(id: object) -> int:
    """The number of a request; some agents send it back as a string."""
    if isinstance(id, str) and id.isdecimal():
        return int(id)
    return int(id) if isinstance(id, int | float) and id == id // 1 else -1
