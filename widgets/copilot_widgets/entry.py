"""What takes more than a click: a text field that opens in a question, with a button that takes it and one back."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

from ipywidgets import HTML, Button, HBox, Layout, RadioButtons, Text, Textarea, VBox  # type: ignore[attr-defined]

from .button import Choice, button, shortened

_WIDE = {"description_width": "initial"}


@dataclass(frozen=True, slots=True)
class Entry:
    """`opens` is the button that opens it, `submit` the one that takes what was entered, `hint` stands under the field.

    `value` stands in the field at first; `lines` is how high it is; one of `places` is chosen, the first at first.
    `on_submit(text, place)` says what is wrong with it, or nothing.
    """

    opens: Choice
    label: str
    submit: Choice
    on_submit: Callable[[str, int], str]
    hint: str = ""
    value: str = ""
    lines: int = 1
    places: tuple[str, ...] = ()


class Editor:
    """The widgets of an entry, closed at first. Whether a click counts is the business of whoever is told of it."""

    def __init__(self, entry: Entry, on_submit: Callable[[], None], on_back: Callable[[], None]) -> None:
        self._entry = entry
        self._field = _field(entry)
        self._places = _choice_of(entry.places) if entry.places else None
        self._complaint = HTML("", layout=Layout(margin="0"))
        self.submit = button(entry.submit, on_submit)
        row = HBox([self.submit, button(Choice("Back"), on_back)], layout=Layout(flex_flow="row wrap", margin="0"))
        hint = HTML(f'<div style="opacity:0.75">{html.escape(entry.hint)}</div>', layout=Layout(margin="0"))
        parts = [self._field, hint, *filter(None, [self._places]), self._complaint, row]
        self.box = VBox(parts, layout=Layout(display="none", margin="2px 0 6px 11px"))
        self.box.add_class("copilot-entry")

    @property
    def guarded(self) -> list[Button]:
        """The buttons that are to be guarded."""
        return [self.submit] if self._entry.submit.guarded else []

    def open(self) -> None:
        """Show it, and put the keyboard into the field."""
        self.box.layout.display = None
        self._field.focus()

    def close(self) -> None:
        """Hide it; what was entered stays."""
        self.box.layout.display = "none"
        self._complaint.value = ""

    def take(self) -> None:
        """Hand over what was entered, and say what is wrong with it."""
        place = self._places.index if self._places else 0
        complaint = self._entry.on_submit(self._field.value, place or 0)
        self._complaint.value = f'<b role="alert">⚠ {html.escape(complaint)}</b>' if complaint else ""


def _field(entry: Entry) -> Text | Textarea:
    """Its value arrives whole, before the click that leaves it."""
    common = {
        "value": entry.value,
        "description": entry.label,
        "tooltip": entry.label,
        "continuous_update": False,
        "style": _WIDE,
        "layout": Layout(width="auto", max_width="60em"),
    }
    return Text(**common) if entry.lines == 1 else Textarea(rows=entry.lines, **common)


def _choice_of(places: tuple[str, ...]) -> RadioButtons:
    options = [(shortened(name), number) for number, name in enumerate(places)]
    return RadioButtons(options=options, layout=Layout(width="auto", margin="0"))
