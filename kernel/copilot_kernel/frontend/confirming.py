"""A question of our own with two answers: buttons, or a line of input."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..acp.elicitation import ElicitationAnswer
from ..rendering.elicitation import NOT_ANSWERED
from ..rendering.question import render_confirmation
from ..rendering.typed_answer import find_index
from .answering import UNSEEN, AnswerWidgets, Show, answer_in_cell
from .cell import Cell
from .vs_code import boxed

if TYPE_CHECKING:
    from copilot_widgets.permission import PermissionQuestion

_YES, _NO = ElicitationAnswer("accept"), ElicitationAnswer("decline")


async def confirm(cell: Cell, title: str, names: tuple[str, str], show: Show) -> ElicitationAnswer:
    """`accept` for the first answer, `decline` for the second, `cancel` if nobody answers, as in a batch run."""

    def buttons(settle: Callable[[ElicitationAnswer], None]) -> PermissionQuestion:
        from copilot_widgets.permission import AnswerButton, PermissionQuestion

        answers = (AnswerButton(names[0]), AnswerButton(names[1], style="primary"))
        return PermissionQuestion(answers, lambda number: settle((_YES, _NO)[number]))

    prompt = f"{boxed(cell.cell_id, title)}1) {names[0]}  2) {names[1]}: "

    async def typed() -> ElicitationAnswer | None:
        """What is neither answer is a no; None at the end of input."""
        with suppress(EOFError):
            return _YES if find_index(await cell.input(prompt), names) == 0 else _NO
        return None

    return await answer_in_cell(
        cell,
        show,
        static=render_confirmation(title),
        make_widgets=lambda: AnswerWidgets(cell, buttons),
        typed=typed,
        unseen=ElicitationAnswer("cancel", reason=UNSEEN),
        undecided=NOT_ANSWERED,
    )
