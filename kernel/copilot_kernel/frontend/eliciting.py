"""What an agent asks of the user besides permission: a form or an address, put to whoever can answer it.

Inputs and buttons in the cell, lines of input, or nobody, and then it is declined. Where it stands in the cell is
`display.py`'s business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from ..acp.elicitation import Elicitation, ElicitationAnswer, Field
from ..conversation.form import Entered, fill
from ..rendering.elicitation import choice_text, elicitation_text, hint, render_elicitation
from ..rendering.interview import NOT_ANSWERED, Interview
from ..rendering.plain import one_line, visible_text
from ..rendering.reasons import NO_BUTTONS
from .asking import Show
from .cell import Bundle, Cell
from .first import first
from .presence import UNSEEN, while_shown
from .slots import OpenQuestion

NOBODY = ElicitationAnswer("decline", reason="nobody can be asked here")
_KEYS = {"choices": "hold Ctrl or ⌘ to choose several"}
_KINDS = {"boolean": "tick", "choice": "one", "choices": "many"}

_log = logging.getLogger(__name__)

Settle = Callable[[ElicitationAnswer], None]
"""Takes the answer; only the first one counts. May be called from any thread."""


class _Shown(Protocol):
    def bundle(self) -> Bundle: ...

    def close(self) -> None: ...

    def probe(self, on_drawn: Callable[[], None]) -> None: ...


class Eliciting:
    """The requests of one cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    async def elicit(self, request: Elicitation, show: Show) -> ElicitationAnswer:
        """The one answer to `request`. Cancelling it withdraws the request."""
        if not self._cell.live:
            return NOBODY
        clicked = self._widgets(request, show) if self._cell.widgets else None
        if clicked is None:
            show(OpenQuestion(self._static(request), _nothing))
            return await self._typed(request)
        if self._cell.widgets_seen:
            return await clicked
        return await first(clicked, self._typed(request), decides=_is_decided)

    def _widgets(self, request: Elicitation, show: Show) -> Awaitable[ElicitationAnswer] | None:
        """Show inputs and buttons: what is awaited is what comes of them. None where ipywidgets does not work."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ElicitationAnswer] = loop.create_future()

        def settle(given: ElicitationAnswer) -> None:
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(given))

        try:
            with self._cell.owning():
                widget = self._form(request, settle) if request.mode == "form" else _consent(request, settle)
            bundle = widget.bundle()
        except Exception:
            _log.exception("no widgets, the agent's request is put in words")
            return None
        buttons = {**bundle, "text/plain": NO_BUTTONS}
        show(OpenQuestion(render_elicitation(request), lambda: self._close(widget), buttons))
        return while_shown(self._cell, widget, answer, ElicitationAnswer("cancel", reason=UNSEEN))

    def _close(self, widget: _Shown) -> None:
        with self._cell.owning():
            widget.close()

    def _form(self, request: Elicitation, settle: Settle) -> _Shown:
        from copilot_widgets.form import Form

        def submit(entered: Sequence[Entered]) -> None:
            names = [field.name for field in request.fields]
            values, mistakes = fill(request.fields, dict(zip(names, entered, strict=True)))
            if not mistakes:
                settle(ElicitationAnswer("accept", values))
            with self._cell.owning():
                form.complain([mistakes.get(name, "") for name in names])

        def decline() -> None:
            settle(ElicitationAnswer("decline"))

        form = Form([_input(field) for field in request.fields], submit, decline)
        return form

    def _static(self, request: Elicitation) -> Bundle:
        """A console prints it once, above the line of input."""
        return {"text/plain": elicitation_text(request)} if self._cell.cell_id is None else render_elicitation(request)

    async def _typed(self, request: Elicitation) -> ElicitationAnswer:
        """At the end of input it counts as not answered."""
        interview = Interview(request)
        answer = None
        while answer is None:
            try:
                answer = interview.take(await self._cell.input(interview.prompt))
            except EOFError:
                return NOT_ANSWERED
        return answer


def _consent(request: Elicitation, settle: Settle) -> _Shown:
    from copilot_widgets.button import Choice
    from copilot_widgets.permission import PermissionQuestion

    answers = (ElicitationAnswer("accept"), ElicitationAnswer("decline"))
    choices = (Choice("Agree", "you visit the address yourself", "primary"), Choice("Decline"))
    return PermissionQuestion(choices, lambda number: settle(answers[number]))


def _input(field: Field) -> Any:
    from copilot_widgets.form import Input

    return Input(
        kind=_KINDS.get(field.kind, "text"),  # type: ignore[arg-type]
        label=visible_text(one_line(field.label)),
        hint=visible_text(" · ".join(filter(None, (hint(field), _KEYS.get(field.kind))))),
        choices=[visible_text(choice_text(each)) for each in field.choices],
        value=_first_value(field),
        empty="(choose)" if field.required else "(none)",
    )


def _first_value(field: Field) -> Entered:
    """The agent's default as what would be entered for it."""
    match field.default:
        case None:
            return ""
        case bool():
            return field.default
    if field.kind not in ("choice", "choices"):
        return str(field.default)
    chosen = field.default if isinstance(field.default, tuple) else (field.default,)
    return tuple(place for place, choice in enumerate(field.choices) if choice.value in chosen)


def _is_decided(answer: ElicitationAnswer) -> bool:
    """Not the end of input: the buttons are still there."""
    return answer is not NOT_ANSWERED


def _nothing() -> None:
    """There are no widgets to close."""
