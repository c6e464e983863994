"""A question with one button for each answer, and answers that take some text.

Plain text in, the number of the clicked button or the entered text out. What the question is about, whether a click
still counts, and what replaces it afterwards are the caller's business.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ipywidgets import HTML, Button, HBox, Layout, RadioButtons, Text, Textarea, VBox  # type: ignore[attr-defined]

from .base import Interactive, log_errors, shortened
from .button import AnswerButton, button
from .card_style import CLASS, STYLE


@dataclass(frozen=True, slots=True)
class TextEntry:
    """An answer that takes text: `opens` shows its field, `submit` sends it, `hint` stands under it.

    `value` is the initial text, `lines` the height; the user selects one of `places`, at first the first one.
    `on_submit(text, place)` returns what is wrong with it, or an empty string.
    """

    opens: AnswerButton
    label: str
    submit: AnswerButton
    on_submit: Callable[[str, int], str]
    hint: str = ""
    value: str = ""
    lines: int = 1
    places: tuple[str, ...] = ()


class Editor:
    """The widgets of a text entry, hidden at first."""

    def __init__(self, entry: TextEntry, on_submit: Callable[[], None], on_back: Callable[[], None]) -> None:
        self._entry = entry
        self._field = _field(entry)
        self._places = None
        if entry.places:
            options = [(shortened(name), number) for number, name in enumerate(entry.places)]
            self._places = RadioButtons(options=options, layout=Layout(width="auto", margin="0"))
        self._complaint = HTML("", layout=Layout(margin="0"))
        self.submit = button(entry.submit, on_submit)
        row = HBox(
            [self.submit, button(AnswerButton("Back"), on_back)], layout=Layout(flex_flow="row wrap", margin="0")
        )
        hint = HTML(f'<div style="opacity:0.75">{html.escape(entry.hint)}</div>', layout=Layout(margin="0"))
        parts = [self._field, hint, *filter(None, [self._places]), self._complaint, row]
        self.box = VBox(parts, layout=Layout(display="none", margin="2px 0 6px 11px"))
        self.box.add_class("copilot-entry")

    def open(self) -> None:
        """Show it and focus the field."""
        self.box.layout.display = None
        self._field.focus()

    def close(self) -> None:
        """Hide it; the text stays."""
        self.box.layout.display = "none"
        self._complaint.value = ""

    def take(self) -> None:
        """Submit the text, and show what is wrong with it."""
        place = self._places.index if self._places else 0
        complaint = self._entry.on_submit(self._field.value, place or 0)
        self._complaint.value = f'<b role="alert">⚠ {html.escape(complaint)}</b>' if complaint else ""


class PermissionQuestion(Interactive):
    """The buttons of a question; what is asked is displayed elsewhere. Names and hints are shown as plain text.

    `on_choice(number)` is called for every click. Guarded answers are disabled, and clicks on them ignored, until
    `release`. `on_move` is called when buttons have moved to where others were.
    """

    def __init__(
        self,
        answers: Sequence[AnswerButton],
        on_choice: Callable[[int], None],
        entries: Sequence[TextEntry] = (),
        on_move: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_choice, self._on_move = on_choice, on_move
        self._held = True
        self._answers = [(answer, self._button(number, answer)) for number, answer in enumerate(answers)]
        self._entries = [self._editor(number, entry) for number, entry in enumerate(entries)]
        self._rows = list(self._made_rows())
        flush = Layout(width="auto", max_width="100%", margin="0")
        editors = (editor.box for _, editor, _ in self._entries)
        super().__init__(VBox([HTML(STYLE, layout=flush), *self._rows, *editors], layout=flush))
        self._box.add_class(CLASS)

    def hold(self) -> None:
        """Disable the guarded answers."""
        self._set_held(True)

    def release(self) -> None:
        """Enable the guarded answers."""
        self._set_held(False)

    def _set_held(self, held: bool) -> None:
        self._held = held
        submits = [(entry.submit, editor.submit) for entry, editor, _ in self._entries]
        for answer, widget in (*self._answers, *submits):
            if answer.guarded:
                widget.disabled = held

    def _made_rows(self) -> Iterable[HBox]:
        """The answers, and below them the quiet ones and those that take text."""
        first = [widget for answer, widget in self._answers if not answer.quiet]
        second = [widget for answer, widget in self._answers if answer.quiet]
        second += [opener for _, _, opener in self._entries]
        for row, margin in ((first, "4px 0 2px 9px"), (second, "0 0 6px 9px")):
            if row:
                yield HBox(row, layout=Layout(flex_flow="row wrap", margin=margin))

    def _button(self, number: int, answer: AnswerButton) -> Button:
        return button(answer, lambda: self._do(answer, lambda: self._on_choice(number)))

    def _editor(self, number: int, entry: TextEntry) -> tuple[TextEntry, Editor, Button]:
        def submit() -> None:
            self._do(entry.submit, editor.take)

        editor = Editor(entry, submit, lambda: self._do(entry.opens, lambda: self._back(number)))
        return entry, editor, button(entry.opens, lambda: self._do(entry.opens, lambda: self._open(number)))

    def _open(self, number: int) -> None:
        self._show_rows(False)
        self._entries[number][1].open()
        self._on_move()

    def _back(self, number: int) -> None:
        _, editor, opener = self._entries[number]
        editor.close()
        self._show_rows(True)
        opener.focus()
        self._on_move()

    def _show_rows(self, shown: bool) -> None:
        for row in self._rows:
            row.layout.display = None if shown else "none"

    def _do(self, answer: AnswerButton, act: Callable[[], None]) -> None:
        if not (answer.guarded and self._held):
            log_errors(act)


def _field(entry: TextEntry) -> Text | Textarea:
    """Its value arrives whole, before the click that leaves it."""
    common = {
        "value": entry.value,
        "description": entry.label,
        "tooltip": entry.label,
        "continuous_update": False,
        "style": {"description_width": "initial"},
        "layout": Layout(width="auto", max_width="60em"),
    }
    return Text(**common) if entry.lines == 1 else Textarea(rows=entry.lines, **common)
