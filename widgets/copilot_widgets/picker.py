"""One list or switch for each setting, a button that applies all choices, and one that cancels.

Plain text in, indices out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ipywidgets import (  # type: ignore[attr-defined]
    HTML,
    Button,
    Dropdown,
    HBox,
    Layout,
    Select,
    ToggleButtons,
    VBox,
    Widget,
)

from .base import Interactive, log_errors, shortened
from .field import PickerField, Picks

MAX_ROWS = 10
MAX_TOGGLES, MAX_TOGGLE_CHARS = 4, 60
"""Up to so many names, and characters of all of them, are buttons side by side."""

_CLASS = "copilot-picker"
_STYLE = f"""<style>
.{_CLASS} select {{ font-size: 14px }}
.{_CLASS} .widget-label {{ white-space: normal; line-height: 1.4; font-size: 14px }}
.{_CLASS} .jupyter-button:focus-visible, .{_CLASS} select:focus-visible {{ outline: 2px solid currentcolor;
  outline-offset: 2px }}
</style>"""


class Picker(Interactive):
    """Calls `on_done(picks)` for every click on a button, with None for Cancel."""

    def __init__(self, fields: Sequence[PickerField], apply: str, on_done: Callable[[Picks | None], None]) -> None:
        controls = [_control(field) for field in fields]
        apply_button = Button(description=apply, button_style="primary", layout=Layout(width="auto"))
        cancel_button = Button(description="Cancel", layout=Layout(width="auto"))
        apply_button.on_click(lambda _: log_errors(lambda: on_done(tuple(control.index for control in controls))))
        cancel_button.on_click(lambda _: log_errors(lambda: on_done(None)))
        row = HBox([apply_button, cancel_button], layout=Layout(flex_flow="row wrap", margin="2px 0 6px 0"))
        super().__init__(VBox([HTML(_STYLE), *controls, row], layout=Layout(width="auto", max_width="100%")))
        self._box.add_class(_CLASS)


def _control(field: PickerField) -> Widget:
    """Buttons side by side for a few short names, an open list if it is `tall`, else a dropdown."""
    names, wide = distinct(map(shortened, field.names)), {"description_width": "initial"}
    common = {
        "options": [(name, number) for number, name in enumerate(names)],
        "index": field.current,
        "description": shortened(field.label),
        "layout": Layout(width="auto", max_width="100%"),
    }
    if field.tall:
        return Select(rows=min(len(names), MAX_ROWS), style=wide, **common)
    if len(names) <= MAX_TOGGLES and sum(map(len, names)) <= MAX_TOGGLE_CHARS:
        return ToggleButtons(tooltips=[*field.hints] or names, style=wide | {"button_width": "auto"}, **common)
    return Dropdown(style=wide, **common)


def distinct(names: Iterable[str]) -> list[str]:
    """`names` with a number behind each repeated one: ipywidgets finds a choice by its name."""
    found: list[str] = []
    for number, name in enumerate(names, 1):
        while name in found:
            name = f"{name} [{number}]"
        found.append(name)
    return found
