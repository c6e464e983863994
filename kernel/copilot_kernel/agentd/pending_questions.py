"""Questions of a shared agent: each goes to one kernel and gets one answer. Pure.

What the agent says of sessions that nobody has yet is kept here, too, until it is known whose they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..acp.jsonrpc import NOT_FOUND, Id, Line
from . import wire
from .wire import WireMessage

LEFT = "The notebook of this session was closed."
MAX_EARLY_BYTES = 4 * 1024 * 1024
"""Limit of the lines that are kept for sessions that kernels may be about to open."""
EARLY_SECONDS = 2.0
"""Time for the id of a new session to arrive after a question in it; some agents wait for the answer first."""

Early = tuple[str, WireMessage, bytes]
"""The session's id, and a line of the agent's."""


class BrokerKernel(Protocol):
    """One connected kernel. `grace` is in seconds."""

    grace: float

    def send(self, line: bytes) -> None:
        """Queue a line for it; never waits."""

    def disconnect(self, why: str) -> None:
        """Tell it why, and close its connection. `Broker.leave` follows, later."""


class Host(Protocol):
    """The process that the broker runs in."""

    def send(self, line: bytes) -> None:
        """Queue a line for the agent; never waits."""

    def later(self, seconds: float, work: Callable[[], None]) -> object:
        """Call `work` after some time."""

    def give_up_socket(self) -> None:
        """Accept no more kernels: the next one starts another broker."""

    def end(self, why: str) -> None:
        """End the agent, and then all connections."""


@dataclass(slots=True, eq=False)
class _Question:
    kernel: BrokerKernel
    id: Id
    method: str


class PendingQuestions:
    """Open questions, and lines that came early. `answer_form` is how permission requests are answered."""

    def __init__(self, host: Host, answer_form: str) -> None:
        self._host, self._answer_form = host, answer_form
        self._open: dict[Id, _Question] = {}
        self._early: list[Early] = []

    def pass_on(self, kernel: BrokerKernel | None, message: WireMessage, line: bytes) -> None:
        """Pass a message on to a kernel; without one, refuse a question."""
        if kernel is None:
            self._refuse_question(message)
            return
        if message.has_id:
            id = wire.id_of(message)
            self._open[id] = _Question(kernel, id, message.method)
        kernel.send(line)

    def answer(self, kernel: BrokerKernel, message: WireMessage, line: Line) -> None:
        """Take an answer, once, from the kernel that was asked."""
        question = self._open.get(wire.id_of(message))
        if question is not None and question.kernel is kernel:
            del self._open[question.id]
            self._host.send(wire.whole(line))

    def leave(self, kernel: BrokerKernel) -> None:
        """This kernel answers no more."""
        for question in [each for each in self._open.values() if each.kernel is kernel]:
            del self._open[question.id]
            self._refuse(question.id, question.method)

    def withdraw(self, message: WireMessage, line: Line) -> None:
        """The agent takes a question back; its ids are its own."""
        id = wire.named(message.params).request
        if question := self._open.get(id):
            question.kernel.send(wire.whole(line))
        for each in [each for each in self._early if each[1].has_id and wire.id_of(each[1]) == id]:
            self._refuse_early(each)

    # -- early ------------------------------------------------------------------------------------------------------

    def keep(self, id: str, message: WireMessage, line: bytes) -> None:
        """Keep a line until a kernel has opened its session; refuse a question if that takes too long."""
        if sum(len(each[2]) for each in self._early) + len(line) > MAX_EARLY_BYTES:
            self._refuse_question(message)
            return
        early = (id, message, line)
        self._early.append(early)
        if message.has_id:
            self._host.later(EARLY_SECONDS, lambda: self._refuse_early(early))

    def early(self, id: str | None) -> list[Early]:
        """Return and forget the lines kept for the session `id`, or all of them."""
        found = [each for each in self._early if id in (None, each[0])]
        self._early = [each for each in self._early if id not in (None, each[0])]
        return found

    def _refuse_early(self, early: Early) -> None:
        if any(each is early for each in self._early):
            self._early = [each for each in self._early if each is not early]
            self._refuse_question(early[1])

    # -- nobody can answer ------------------------------------------------------------------------------------------

    def _refuse_question(self, message: WireMessage) -> None:
        if message.has_id:
            self._refuse(wire.id_of(message), message.method)

    def _refuse(self, id: Id, method: str) -> None:
        if method == "session/request_permission":
            outcome = "cancelled" if self._answer_form == "flat" else {"outcome": "cancelled"}
            self._host.send(wire.result(id, {"outcome": outcome}))
        elif method == "elicitation/create":
            self._host.send(wire.result(id, {"action": "cancel"}))
        else:
            self._host.send(wire.failure(id, NOT_FOUND, LEFT))
