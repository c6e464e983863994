"""Questions besides permission: an agent's form or link (spec: elicitation), or our own, with two answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from copilot_widgets.answers import AnswerButton, Answers, Reply
from copilot_widgets.field import FormInput
from msgspec.structs import replace

from ..acp.elicitation import Elicitation, ElicitationAnswer, FormField
from ..conversation.form import Entered, fill
from ..conversation.model import Notice
from ..rendering.elicitation_view import answer_line, choice_text, hint, interview, render_elicitation
from ..rendering.markup import OF_FAILURE, Bundle
from ..rendering.plain import one_line, visible_text
from ..rendering.question import render_confirmation
from ..rendering.typed_answer import find_index
from .open_question import NOBODY, AskLine, OpenQuestion

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

_CONSENT = Answers(
    (AnswerButton(0, "Agree", "you visit the address yourself", is_suggested=True), AnswerButton(1, "Decline"))
)
_KEYS = {"choices": "hold Ctrl or ⌘ to choose several"}
_KINDS = {"boolean": "tick", "choice": "one", "choices": "many"}


class ActionQuestion(OpenQuestion[ElicitationAnswer]):
    """A question that is accepted or declined; `answers` are the buttons for it, in this order."""

    answers: Answers | None = None

    def __init__(self, title: str, answers: Answers | None) -> None:
        super().__init__(title)
        self.answers = answers

    def make_widgets(self, on_move: Callable[[], object]) -> Interactive:
        from copilot_widgets.permission import AnswerCard

        assert self.answers is not None
        return AnswerCard(self.answers, self.reply, on_move)

    def reply(self, reply: Reply) -> str:
        self.settle(ElicitationAnswer("accept" if reply.option == 0 else "decline"))
        return ""

    def unattended(self, reason: str = NOBODY) -> ElicitationAnswer:
        return ElicitationAnswer("decline", reason=reason)

    def unanswered(self, reason: str) -> ElicitationAnswer:
        return ElicitationAnswer("cancel", reason=reason)


class Confirmation(ActionQuestion):
    """A question of our own; the first of its two answers, which have these `names`, is to accept.

    The answer with the index `suggested` is highlighted.
    """

    def __init__(self, title: str, names: tuple[str, str], *, suggested: int = 1) -> None:
        buttons = (AnswerButton(index, name, is_suggested=index == suggested) for index, name in enumerate(names))
        super().__init__(title, Answers(tuple(buttons)))
        self._names = names

    @property
    def static(self) -> Bundle:
        return render_confirmation(self.title)

    async def read_lines(self, ask: AskLine) -> ElicitationAnswer:
        """Read an answer; what is neither counts as a no."""
        line = await ask(f"1) {self._names[0]}  2) {self._names[1]}: ")
        return ElicitationAnswer("accept" if find_index(line, self._names) == 0 else "decline")

    def closing_line(self, answer: ElicitationAnswer) -> Notice:
        why = f" ({answer.reason})" if answer.reason else ""
        return Notice(self.entry_id, 0, "info", f"{self.title} → {self._names[answer.action != 'accept']}{why}")


class SignIn(Confirmation):
    """Whether the agent signs the user in, and the cell is run again; below the card that says why."""

    def __init__(self) -> None:
        super().__init__("Sign in now?", ("Sign in and run again", "Not now"), suggested=0)

    @property
    def static(self) -> Bundle:
        return render_confirmation(self.title, OF_FAILURE)

    def closing_line(self, answer: ElicitationAnswer) -> Notice:
        line = super().closing_line(answer)
        return line if answer.action == "accept" else replace(line, title="Not signed in.")


class ElicitationQuestion(ActionQuestion):
    """A form, or consent to visit an address."""

    def __init__(self, request: Elicitation) -> None:
        super().__init__(visible_text(one_line(request.message)), None if request.mode == "form" else _CONSENT)
        self._request = request

    @property
    def static(self) -> Bundle:
        return render_elicitation(self._request)

    def make_widgets(self, on_move: Callable[[], object]) -> Interactive:
        from copilot_widgets.form import FormWidget

        if self.answers is not None:
            return super().make_widgets(on_move)
        inputs = [_input(field) for field in self._request.fields]
        return FormWidget(inputs, self._submit, lambda: self.settle(ElicitationAnswer("decline")))

    def _submit(self, entered: Sequence[Entered]) -> list[str]:
        """Return what is wrong with each field; the question stays open if anything is."""
        names = [field.name for field in self._request.fields]
        values, mistakes = fill(self._request.fields, dict(zip(names, entered, strict=True)))
        if not mistakes:
            self.settle(ElicitationAnswer("accept", values))
        return [mistakes.get(name, "") for name in names]

    async def read_lines(self, ask: AskLine) -> ElicitationAnswer:
        return await interview(self._request, ask)

    def closing_line(self, answer: ElicitationAnswer) -> Notice:
        return Notice(self.entry_id, 0, "info", answer_line(self._request, answer), self._request.message)


def _input(field: FormField) -> FormInput:
    return FormInput(
        kind=_KINDS.get(field.kind, "text"),  # type: ignore[arg-type]
        label=visible_text(one_line(field.label)),
        hint=visible_text(" · ".join(filter(None, (hint(field), _KEYS.get(field.kind))))),
        choices=[visible_text(choice_text(each)) for each in field.choices],
        value=_first_value(field),
        empty="(choose)" if field.required else "(none)",
    )


def _first_value(field: FormField) -> Entered:
    """The agent's default as what would be entered for it."""
    if isinstance(field.default, bool):
        return field.default
    if field.default is None:
        return ""
    if field.kind not in ("choice", "choices"):
        return str(field.default)
    chosen = field.default if isinstance(field.default, tuple) else (field.default,)
    return tuple(place for place, choice in enumerate(field.choices) if choice.value in chosen)
