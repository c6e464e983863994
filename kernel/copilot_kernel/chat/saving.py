"""What a person says with an answer beyond yes and no: a rule from now on, or a word to the agent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from anyio import get_cancelled_exc_class, to_thread

from ..errors import UsageError
from ..permissions.question import Answer
from ..permissions.rulebook import HERE, Kind
from .judging import PolicyEvaluator
from .keeping import keep
from .record import ConversationState

IN_ENVIRONMENT = "The next kernel does not know it: there COPILOT_KERNEL_{} in the environment is used instead."

UNKNOWN = "Whether it was saved as well is not known, for that was broken off."


class AnswerActions:
    """`feedback` is what is to be told to the agent when its turn is over, in the order in which it was said."""

    def __init__(self, judge: PolicyEvaluator, record: ConversationState) -> None:
        self.feedback: list[str] = []
        self._judge, self._record = judge, record

    def hear(self, answer: Answer) -> None:
        """This is the answer that counts: what it says with a "no" is for the agent."""
        if answer.feedback.strip() and not answer.allows:
            self.feedback.append(answer.feedback.strip())

    async def of(self, answer: Answer) -> Answer:
        """`answer`, after its rule was taken care of; one that cannot be a rule is left out."""
        if not (answer.rule and answer.allows):
            return answer
        try:
            words = await self.add("allow", answer.rule, to_settings=answer.keep == "settings")
        except get_cancelled_exc_class():
            self._record.tell("info", f"{_VERBS['allow']} in {HERE}: {answer.rule}. {UNKNOWN}")
            raise
        except UsageError as error:
            self._record.tell("warning", f"{error} {error.hint}")
            return replace(answer, rule="")
        self._record.tell("info", words)
        return answer

    async def add(self, kind: Kind, rule: str, *, to_settings: bool) -> str:
        """Put a rule in force, and keep it in the user's config file if that is wanted; in words, what was done.

        Raises UsageError if it is no rule. If it cannot be kept it holds all the same, and the words say so.
        """
        self._judge.book = self._judge.book.adding(kind, rule)
        if not to_settings:
            return f"{_VERBS[kind]} in {HERE}: {rule}"
        try:
            file = str(await to_thread.run_sync(partial(keep, kind, rule), abandon_on_cancel=True))
        except UsageError as error:
            return f"{_VERBS[kind]} in {HERE} only: {rule}. {error} {error.hint}"
        remark = self._remark(kind)
        self._judge.saved(kind, rule, file)
        return " ".join(filter(None, (f"{_VERBS[kind]} from now on: {rule} (saved in {file}).", remark)))

    def _remark(self, kind: Kind) -> str:
        """The environment outranks the file; but not where what is denied and asked about adds up."""
        is_outranked = kind == "allow" and self._judge.settings.origins.get(kind, "").startswith("environment")
        return IN_ENVIRONMENT.format(kind.upper()) if is_outranked else ""


_VERBS = {"allow": "Allowed", "ask": "Asked about", "deny": "Denied"}
