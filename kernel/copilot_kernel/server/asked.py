"""The open questions of one conversation: anybody who sees them may answer, once, before the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ..acp.messages import Option
from ..errors import UsageError
from ..permissions import policy
from ..permissions.question import Answer, Question
from ..rendering.plain import visible_line
from ..rendering.question import question_html
from .telling import Names, arguments, tool
from .wire import ApprovalRequest, ApproveTool, Event, Message

LARGEST = 4_000_000
"""Characters of a question's picture; nobody can decide about what cannot be shown."""


@dataclass(frozen=True, slots=True)
class _Open:
    question: Question
    request: ApprovalRequest
    answer: asyncio.Future[Answer]


class Asked:
    """`limit` is how many seconds a question stays open; then it is rejected."""

    def __init__(self, names: Names, tell: Callable[[Message], None], limit: float) -> None:
        self._names, self._tell, self._limit = names, tell, limit
        self._open: dict[str, _Open] = {}

    @property
    def requests(self) -> tuple[ApprovalRequest, ...]:
        """What waits for an answer, oldest first."""
        return tuple(each.request for each in self._open.values())

    async def ask(self, question: Question) -> Answer:
        """The one answer; cancelled when the question is withdrawn."""
        request = self._request(question)
        if len(request.html) > LARGEST:
            return Answer(policy.reject(question.options), "nobody", "it is too large to be shown here")
        waiting = _Open(question, request, asyncio.get_running_loop().create_future())
        answer = Answer(None, "cancel", "withdrawn")
        self._open[request.call_id] = waiting
        self._tell(request)
        try:
            answer = await self._answer(waiting)
        finally:
            del self._open[request.call_id]
            told = {"call_id": request.call_id, "approved": answer.allows, "reason": answer.words}
            self._tell(Event("approval_resolved", told))
        return answer

    def answer(self, action: ApproveTool) -> None:
        """The first answer counts. Raises UsageError for a question that is not open, or has no such answer."""
        waiting = self._open.get(action.call_id)
        if waiting is None or waiting.answer.done():
            raise UsageError(f"There is no open question {action.call_id:.100}.", "It may have been answered already.")
        answer = Answer(_chosen(action, waiting.question.options), "you", feedback=action.reason.strip())
        if answer.feedback and not answer.rejects:
            raise UsageError("A reason goes with a no.", "Answer without it, or reject the call.")
        waiting.answer.set_result(answer)

    async def _answer(self, waiting: _Open) -> Answer:
        try:
            async with asyncio.timeout(self._limit):
                return await waiting.answer
        except TimeoutError:
            reason = f"nobody answered within {self._limit:g} s"
            return Answer(policy.reject(waiting.question.options), "nobody", reason)

    def _request(self, question: Question) -> ApprovalRequest:
        call = question.call
        return ApprovalRequest(
            call_id=self._names.of_question(call, question.key),
            tool=tool(call),
            arguments=arguments(call),
            title=visible_line(call.best_title),
            options=question.options,
            entry=call.id,
            html=question_html(question),
        )


def _chosen(action: ApproveTool, options: tuple[Option, ...]) -> Option | None:
    """By the id of an option, else yes means once, and anything else no."""
    if action.option_id is not None:
        found = next((option for option in options if option.id == action.option_id), None)
        if found is None:
            raise UsageError("The question has no such answer.", f"There is {', '.join(each.id for each in options)}.")
        return found
    if not action.approves:
        return policy.reject(options)
    once = next((option for option in options if option.kind == "allow_once"), None)
    if once is None:
        raise UsageError("The agent does not offer to allow this once.", "Answer with an option_id, or reject it.")
    return once
