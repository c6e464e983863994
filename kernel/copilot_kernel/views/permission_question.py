"""A permission request, or a question of our own: in cells, in chats, and in the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from copilot_widgets.answers import Answers, Reply

from ..conversation.model import Notice
from ..environment import environment_of
from ..permissions import policy
from ..permissions.offers import rule_problem
from ..permissions.question import PermissionAnswer, Question
from ..rendering.answers import answers_to
from ..rendering.markup import Bundle
from ..rendering.permission_options import settings_for
from ..rendering.plain import quoted, visible_line, visible_text
from ..rendering.question import QuestionView
from ..rendering.typed_answer import line_prompt, read_line, typed_answer
from .open_question import NOBODY, AskLine, OpenQuestion

if TYPE_CHECKING:
    from copilot_widgets.permission import AnswerCard

NO_RULE = ", and no rule covers it; run the prompt in an open notebook, where you can answer"


class PermissionQuestion(OpenQuestion[PermissionAnswer]):
    """`root` is the project's folder. Without `can_save`, no rule is offered that would be saved."""

    always_leaves_line = False

    def __init__(self, question: Question, root: str = "", *, can_save: bool = True) -> None:
        offers = tuple(offer for offer in question.offers if can_save or offer.keep == "session")
        self.view = view = QuestionView(replace(question, offers=offers), root)
        self.question = question = view.question
        super().__init__(view.headline, question.call.id if question.call else None)
        self.languages = view.languages
        self._doubted = ""

    @cached_property
    def answers(self) -> Answers:
        """Buttons and fields of the question."""
        return answers_to(self.view)

    @property
    def static(self) -> Bundle:
        return self.view.bundle

    def make_widgets(self, on_move: Callable[[], object]) -> AnswerCard:
        from copilot_widgets.permission import AnswerCard

        return AnswerCard(self.answers, self.reply, on_move)

    def reply(self, reply: Reply) -> str:
        """Answer it, with a reason for a rejection, or else a rule.

        Return what is wrong with the rule, if anything is; then the question stays open. Only rules that were offered
        so are saved: their words have said what they mean in other projects.
        """
        answer = PermissionAnswer(self.question.options[reply.option], "you")
        if answer.rejects:
            answer = replace(answer, feedback=reply.reason)
        elif reply.rule and self.question.call:
            if complaint := self._complaint(reply.rule):
                return visible_text(quoted(complaint))
            is_saved = any((each.rule, each.keep) == (reply.rule, "settings") for each in self.question.offers)
            answer = replace(answer, rule=reply.rule, keep=reply.keep if is_saved else "session")
        self.settle(answer)
        return ""

    def _complaint(self, rule: str) -> str:
        """Return why `rule` is not accepted; empty if it is. A doubtful one is accepted the second time."""
        if problem := rule_problem(rule):
            return problem
        root = self.view.root
        doubt = policy.rule_doubt(rule, self.question, root, str(environment_of(root).home))
        if not doubt or rule == self._doubted:
            return ""
        self._doubted = rule
        return f"{doubt} Add it again if you mean it."

    async def read_lines(self, ask: AskLine) -> PermissionAnswer:
        return await read_line(ask, line_prompt(self.question), partial(typed_answer, self.question))

    def unattended(self, reason: str = NOBODY) -> PermissionAnswer:
        """Reject it, with the narrowest settings that would allow it.

        Never the mode that allows everything: what is allowed here is done unseen.
        """
        ways = " or ".join(settings_for(self.question.rules))
        how = f"; to allow it, set {ways}" if ways else NO_RULE
        return PermissionAnswer(policy.reject(self.question.options), "none", f"{reason}{how}")

    def unanswered(self, reason: str) -> PermissionAnswer:
        return PermissionAnswer(None, "cancel", reason)

    def closing_line(self, answer: PermissionAnswer) -> Notice:
        about, words = self.view.subject, answer.words(self.question.options)
        asked = visible_line(about.head or f"{about.title}:")
        return Notice(self.entry_id, 0, "info", f"{asked} {words}")
