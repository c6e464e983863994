"""A question as the page asks it, and its answer there."""

from __future__ import annotations

import os
from dataclasses import replace

from msgspec import to_builtins

from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question
from ..rendering.answers import answers_to
from ..rendering.plain import visible_text
from ..rendering.question import headline, question_html
from .page_comm import Page, PageAnswer


async def ask_in_page(page: Page, key: str, question: Question, root: str) -> PermissionAnswer:
    """The answer to `question` in `page`, which knows it by `key`; rules are reviewed as in cells.

    Cancelled, it withdraws the question. `root` is the project's folder.
    """
    review = policy.RuleReview(question, root, os.path.expanduser("~"))

    def complaint(answer: PageAnswer) -> str:
        return visible_text(review.complaint(answer.rule)) if answer.rule else ""

    chosen = await page.ask(
        key,
        len(question.options),
        complaint,
        title=headline(question, root),
        html=question_html(question, root),
        answers=to_builtins(answers_to(question, root)),
    )
    answer = PermissionAnswer(question.options[chosen.option], "you")
    if answer.rejects:
        return replace(answer, feedback=chosen.reason)
    return replace(answer, rule=chosen.rule, keep=chosen.keep) if chosen.rule else answer
