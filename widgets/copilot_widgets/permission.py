"""A question with one button for each answer, and answers that take some text.

Plain text in, the number of the clicked button or the entered text out. What the question is about, whether a click
still counts, and what replaces it afterwards are the caller's business.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ipywidgets import HTML, Button, HBox, Layout, RadioButtons, Text, Textarea, VBox  # type: ignore[attr-defined]

from .base import CLASS, STYLE, Interactive, log_errors, shortened


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """One answer: `name` is the button's label, `hint` what it answers, for the tooltip and screen readers.

    `style` is a button style of ipywidgets: primary, success, info, warning, danger or empty. `guarded`: clicks count
    only while the question is released. `quiet`: shown behind the others.
    """

    name: str
    hint: str = ""
    style: str = ""
    guarded: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class TextEntry:
    """An answer that takes text: `opens` shows its field, `submit` sends it, `hint` stands under it.

    `value` is the initial text, `lines` the height; the user selects one of `places`, at first the first one.
    `on_submit(text, place)` returns what is wrong with it, or an empty string. `answers` are numbers of answers that
    are offered below, each with its hint beside it.
    """

    opens: AnswerButton
    label: str
    submit: AnswerButton
    on_submit: Callable[[str, int], str]
    hint: str = ""
    value: str = ""
    lines: int = 1
    places: tuple[str, ...] = ()
    answers: tuple[int, ...] = ()


class Editor:
    """The widgets of a text entry: the button that opens it, and its box, hidden at first.

    `on_toggle` is called with whether the box is open now. `answers` are shown at the end of the box.
    """

    def __init__(self, entry: TextEntry, on_toggle: Callable[[bool], None], answers: Sequence[HBox] = ()) -> None:
        self._entry, self._on_toggle = entry, on_toggle
        self._field = _field(entry)
        self._places = None
        if entry.places:
            options = [(shortened(name), number) for number, name in enumerate(entry.places)]
            self._places = RadioButtons(options=options, layout=Layout(width="auto", margin="0"))
        self._complaint = HTML("", layout=Layout(margin="0"))
        self.opener = _button(entry.opens, self._open)
        self.submit = _button(entry.submit, self._submit)
        back = _button(AnswerButton("Back"), self._close)
        row = HBox([self.submit, back], layout=Layout(flex_flow="row wrap", margin="0"))
        parts = [self._field, _hint(entry.hint), *filter(None, [self._places]), self._complaint, row, *answers]
        self.box = VBox(parts, layout=Layout(display="none", margin="2px 0 6px 11px"))
        self.box.add_class("copilot-entry")

    def _open(self) -> None:
        self.box.layout.display = None
        self._on_toggle(True)
        self._field.focus()

    def _close(self) -> None:
        self.box.layout.display = "none"
        self._complaint.value = ""
        self._on_toggle(False)
        self.opener.focus()

    def _submit(self) -> None:
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
        self._on_move = on_move
        made = [_button(answer, partial(on_choice, number)) for number, answer in enumerate(answers)]
        editors = [
            Editor(entry, self._toggled, [_explained(made[number], answers[number]) for number in entry.answers])
            for entry in entries
        ]
        self._guarded = [widget for widget in (*made, *(editor.submit for editor in editors)) if widget.disabled]
        inside = {number for entry in entries for number in entry.answers}
        outside = [each for number, each in enumerate(zip(answers, made, strict=True)) if number not in inside]
        first, last = ([widget for answer, widget in outside if answer.quiet == quiet] for quiet in (False, True))
        self._number = HTML("", layout=Layout(margin="0 0 0 auto"))
        openers = (editor.opener for editor in editors)
        layout = Layout(flex_flow="row wrap", align_items="center", margin="4px 0 6px 9px")
        self._row = HBox([*first, *openers, *last, self._number], layout=layout)
        flush = Layout(width="auto", max_width="100%", margin="0")
        boxes = (editor.box for editor in editors)
        super().__init__(VBox([HTML(STYLE, layout=flush), self._row, *boxes], layout=flush))
        self._box.add_class(CLASS)

    def number(self, number: int, count: int) -> None:
        """Show which of several open questions this is."""
        self._number.value = f'<span style="opacity:0.75">{number} of {count}</span>' if count > 1 else ""

    def hold(self) -> None:
        """Disable the guarded answers."""
        for widget in self._guarded:
            widget.disabled = True

    def release(self) -> None:
        """Enable the guarded answers."""
        for widget in self._guarded:
            widget.disabled = False

    def _toggled(self, is_open: bool) -> None:
        """An open editor stands in place of the answers."""
        self._row.layout.display = "none" if is_open else None
        self._on_move()


def _hint(text: str) -> HTML:
    return HTML(f'<div style="opacity:0.75">{html.escape(text)}</div>', layout=Layout(margin="0"))


def _explained(button: Button, answer: AnswerButton) -> HBox:
    return HBox([button, _hint(answer.hint)], layout=Layout(flex_flow="row wrap", align_items="center", margin="0"))


def _button(answer: AnswerButton, on_click: Callable[[], None]) -> Button:
    """The widget for `answer`; a guarded one starts disabled. A click that was on its way by then is ignored."""
    name = shortened(answer.name)
    made = Button(
        description=name,
        tooltip=f"{name}: {shortened(answer.hint)}" if answer.hint else name,
        button_style=answer.style,
        disabled=answer.guarded,
        layout=Layout(width="auto", max_width="100%"),
    )
    made.on_click(lambda _: None if made.disabled else log_errors(on_click))
    if answer.quiet:
        made.add_class("copilot-quiet")
    if answer.guarded:
        made.add_class("copilot-guarded")
    return made


def _field(entry: TextEntry) -> Text | Textarea:
    """Make a text field whose value arrives whole, before the click that leaves it."""
    common = {
        "value": entry.value,
        "description": entry.label,
        "tooltip": entry.label,
        "continuous_update": False,
        "style": {"description_width": "initial"},
        "layout": Layout(width="auto", max_width="60em"),
    }
    return Text(**common) if entry.lines == 1 else Textarea(rows=entry.lines, **common)
