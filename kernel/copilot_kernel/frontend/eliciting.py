"""Ask what an agent wants to know besides permission (spec: elicitation): a form, or consent to visit an address.

Inputs and buttons in the cell, or lines of input; in a batch run the request is declined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..acp.elicitation import Elicitation, ElicitationAnswer, FormField
from ..conversation.form import Entered, fill
from ..rendering.elicitation import NOT_ANSWERED, choice_text, elicitation_text, hint, interview, render_elicitation
from ..rendering.plain import one_line, visible_text
from .answering import NOBODY, UNSEEN, AnswerWidgets, Show, answer_in_cell
from .cell import Cell
from .vs_code import boxed

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive
    from copilot_widgets.form import FormInput

_KEYS = {"choices": "hold Ctrl or ⌘ to choose several"}
_KINDS = {"boolean": "tick", "choice": "one", "choices": "many"}

Settle = Callable[[ElicitationAnswer], None]


async def elicit(cell: Cell, request: Elicitation, show: Show) -> ElicitationAnswer:
    """The one answer to `request`. Cancelling it withdraws the request."""
    if not cell.live:
        return ElicitationAnswer("decline", reason=NOBODY)
    asked = boxed(cell.cell_id, visible_text(one_line(request.message)))
    make = partial(_form, cell, request) if request.mode == "form" else _consent
    return await answer_in_cell(
        cell,
        show,
        # A console prints it once, above the line of input.
        static={"text/plain": elicitation_text(request)} if cell.cell_id is None else render_elicitation(request),
        make_widgets=lambda: AnswerWidgets(cell, make),
        typed=partial(interview, request, lambda prompt: cell.input(asked + prompt)),
        unseen=ElicitationAnswer("cancel", reason=UNSEEN),
        undecided=NOT_ANSWERED,
    )


def _form(cell: Cell, request: Elicitation, settle: Settle) -> Interactive:
    from copilot_widgets.form import FormWidget

    def submit(entered: Sequence[Entered]) -> None:
        names = [field.name for field in request.fields]
        values, mistakes = fill(request.fields, dict(zip(names, entered, strict=True)))
        if not mistakes:
            settle(ElicitationAnswer("accept", values))
        with cell.owning():
            form.complain([mistakes.get(name, "") for name in names])

    form = FormWidget([_input(field) for field in request.fields], submit, lambda: settle(ElicitationAnswer("decline")))
    return form


def _consent(settle: Settle) -> Interactive:
    from copilot_widgets.permission import AnswerButton, PermissionQuestion

    answers = (ElicitationAnswer("accept"), ElicitationAnswer("decline"))
    choices = (AnswerButton("Agree", "you visit the address yourself", "primary"), AnswerButton("Decline"))
    return PermissionQuestion(choices, lambda number: settle(answers[number]))


def _input(field: FormField) -> FormInput:
    from copilot_widgets.form import FormInput

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
