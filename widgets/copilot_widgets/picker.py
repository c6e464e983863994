"""One list, switch or column of buttons for each setting; a choice counts at once. Plain text in, indices out."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ipywidgets import (  # type: ignore[attr-defined]
    HTML,
    Button,
    Dropdown,
    HBox,
    Layout,
    ToggleButtons,
    VBox,
    Widget,
)

from .base import Interactive, log_errors, shortened
from .field import PickerField

MAX_TOGGLES, MAX_TOGGLE_CHARS = 4, 60
"""Up to so many names, and characters of all of them, are buttons side by side."""

OnPick = Callable[[int, int], object]
"""Gets the index of the field and that of the name."""

CHOICES = "copilot-choices"
"""Class of what the display above the picker shows; hidden while the picker can be used."""
_CLASS = "copilot-picker"
_STYLE = f"""<style>
.{_CLASS} select {{ font-size: 14px }}
.{_CLASS} .widget-label {{ white-space: normal; line-height: 1.4; font-size: 14px }}
.{_CLASS} .widget-html-content {{ font-size: 14px; line-height: 1.6; overflow-wrap: anywhere }}
.{_CLASS} .jupyter-button:focus-visible, .{_CLASS} select:focus-visible {{ outline: 2px solid currentcolor;
  outline-offset: 2px }}
.{_CLASS}.jupyter-widgets-disconnected {{ display: none }}
.jp-OutputArea-child:has(+ .jp-OutputArea-child .{_CLASS}:not(.jupyter-widgets-disconnected)) .{CHOICES} {{
  display: none }}
</style>"""


class Picker(Interactive):
    """Calls `on_pick` for every choice of the user's."""

    def __init__(self, fields: Sequence[PickerField], on_pick: OnPick) -> None:
        self._on_pick = on_pick
        self._shown = [field.current for field in fields]
        self._controls = [self._control(number, field) for number, field in enumerate(fields)]
        self._line = HTML()
        box = VBox([HTML(_STYLE), *self._controls, self._line], layout=Layout(width="auto", max_width="100%"))
        super().__init__(box)
        self._box.add_class(_CLASS)

    def report(self, line: str) -> None:
        """Show a line below the choices."""
        self._line.value = f'<div role="status">{html.escape(line)}</div>'

    def set(self, field: int, choice: int | None) -> None:
        """Show what is set, which is no choice of the user's."""
        self._shown[field] = choice
        if "index" in self._controls[field].trait_names():
            self._controls[field].index = choice

    def _control(self, number: int, field: PickerField) -> Widget:
        if field.action:
            return _rows(field, partial(self._on_pick, number))
        control = _selection(field)
        control.observe(partial(self._changed, number), "index")
        return control

    def _changed(self, number: int, change: dict[str, Any]) -> None:
        index = change["new"]
        if index is not None and index != self._shown[number]:
            self._shown[number] = index
            log_errors(lambda: self._on_pick(number, index))


def _selection(field: PickerField) -> Widget:
    """Buttons side by side for a few short names, else a dropdown."""
    names, wide = distinct(map(shortened, field.names)), {"description_width": "initial"}
    common = {
        "options": [(name, number) for number, name in enumerate(names)],
        "index": field.current,
        "description": shortened(field.label),
        "layout": Layout(width="auto", max_width="100%"),
    }
    if len(names) <= MAX_TOGGLES and sum(map(len, names)) <= MAX_TOGGLE_CHARS:
        return ToggleButtons(tooltips=[*field.hints] or names, style=wide | {"button_width": "auto"}, **common)
    return Dropdown(style=wide, **common)


def _rows(field: PickerField, on_pick: Callable[[int], object]) -> Widget:
    rows: list[Widget] = [HTML(html.escape(shortened(field.label)))] if field.label else []
    for number, name in enumerate(map(shortened, field.names)):
        button = Button(description=field.action, tooltip=f"{field.action}: {name}", layout=Layout(width="auto"))
        button.on_click(lambda _, number=number: log_errors(lambda: on_pick(number)))
        # The longest rows wrap beside the button.
        text = HTML(html.escape(name), layout=Layout(flex="1 1 0"))
        rows.append(HBox([button, text], layout=Layout(align_items="center")))
    return VBox(rows, layout=Layout(max_height="24em", overflow="hidden auto", display="block"))


def distinct(names: Iterable[str]) -> list[str]:
    """`names` with a number behind each repeated one: ipywidgets finds a choice by its name."""
    found: list[str] = []
    for number, name in enumerate(names, 1):
        while name in found:
            name = f"{name} [{number}]"
        found.append(name)
    return found
