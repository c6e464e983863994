"""The buttons of a permission request: one definition for notebooks, for the page that asks, and for the chat page.

They come in one order, whatever the agent's: allow once, deny, deny and say why, always allow. What the agent itself
remembers is last, under the rules that are offered where there are any. What allows once is suggested, unless there are
several of that; whatever is not a no is guarded, since an unknown kind may allow. Texts are for display: nothing hides
in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from copilot_widgets.answers import AnswerButton, Answers, TextAnswer

from ..permissions.question import Question
from .permission_options import (
    STANDING,
    WHY,
    WORDS,
    agents_words,
    is_for_a_reason,
    label,
    rejection_to_explain,
    remark,
    remembered,
)
from .plain import visible_line, visible_text
from .question import QuestionView

NO_REASON = "Say what to do instead, or go back and deny without a reason."
ALWAYS = "Always allow ▾"
EMPTY_RULE = "Write a rule, or go back."
WRITE_RULE = "Write a rule"
OWN_RULE = "A rule that you write applies to this conversation."
REMEMBER = "Let {} remember it"
# By kind; the others come after them, and those of one rank in the agent's order.
_RANKS = {"allow_once": 0, "reject_once": 1}


def answers_to(view: QuestionView) -> Answers:
    """The answers to a question. What is alarming is not highlighted."""
    question, about, is_calm = view.question, view.about, not view.is_alarming
    reject = None if question.call is None else rejection_to_explain(question.options)
    choices = tuple(_choices(view, is_calm=is_calm))
    kept = tuple(each for each in choices if each.is_remembered)
    rule = _rule(question, about, kept)
    inside = {each.option for each in rule.choices} if rule else set()
    return Answers(
        choices=tuple(each for each in choices if not each.is_remembered),
        reason=None if reject is None else _reason(reject, about),
        rule=rule,
        last=tuple(each for each in kept if each.option not in inside),
    )


def _choices(view: QuestionView, *, is_calm: bool) -> Iterator[AnswerButton]:
    question, options, amount = view.question, view.question.options, view.folded_amount
    for number in sorted(range(len(options)), key=lambda number: _RANKS.get(options[number].kind, len(_RANKS))):
        option = options[number]
        if is_for_a_reason(option, options):
            continue
        allows, is_kept = option.kind == "allow_once", option.kind in STANDING
        name, words = label(question, option), agents_words(question, option)
        remarks = ", ".join(filter(None, (remark(option), amount if allows else "")))
        effect = remembered(question, option) if is_kept else view.about
        yield AnswerButton(
            option=number,
            label=f"{name} ({remarks})" if remarks else name,
            hint=f"{effect} · the agent calls it {words}" if words else effect,
            is_suggested=allows and is_calm and name == WORDS[option.kind],
            is_guarded=not option.rejects,
            is_remembered=is_kept,
        )


def _reason(reject: int, about: str) -> TextAnswer:
    return TextAnswer(
        option=reject,
        label=WHY,
        hint=about,
        field="Tell the agent what to do instead",
        value="",
        note="Sent as your next message.",
        submit="Deny and send",
        submit_hint=about,
        if_empty=NO_REASON,
    )


def _rule(question: Question, about: str, kept: tuple[AnswerButton, ...]) -> TextAnswer | None:
    """Return the rules that are offered; None where there are none, or nothing would allow this call beside them."""
    allow = next((number for number, option in enumerate(question.options) if option.kind == "allow_once"), None)
    if allow is None or not question.offers:
        return None
    offered = (
        AnswerButton(allow, visible_line(each.words), is_guarded=True, rule=each.rule, keep=each.keep)
        for each in question.offers
    )
    remembered = (
        replace(each, label=REMEMBER.format("Copilot" if question.of_copilot else "the agent"))
        for each in kept
        if question.options[each.option].kind == "allow_always"
    )
    return TextAnswer(
        option=allow,
        label=ALWAYS,
        hint=about,
        field="Rule",
        value=visible_text(question.offers[0].rule),
        note=OWN_RULE,
        submit="Add rule",
        submit_hint=about,
        if_empty=EMPTY_RULE,
        choices=(*offered, *remembered),
        fold=WRITE_RULE,
    )
