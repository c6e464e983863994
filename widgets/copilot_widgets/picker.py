"""One list or switch for each thing to choose, one button that takes all choices, one that leaves everything as it is.

Texts in, numbers out. Whatever the texts hold, they are shown as text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

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

from .button import shortened
from .field import Field, Picks
from .parts import close
from .permission import WIDGET_VIEW
from .probe import probe

FEW, MOST_ROWS = 4, 10
SHORT = 60
"""Characters of all names together, up to which few of them become buttons side by side."""

_CLASS = "copilot-picker"
_STYLE = f"""<style>
.{_CLASS} select {{ font-size: 14px }}
.{_CLASS} .widget-label {{ white-space: normal; line-height: 1.4; font-size: 14px }}
.{_CLASS} .jupyter-button:focus-visible, .{_CLASS} select:focus-visible {{ outline: 2px solid currentcolor;
  outline-offset: 2px }}
</style>"""

_WIDE = {"description_width": "initial"}

_log = logging.getLogger(__name__)


class Picker:
    """`on_done(picks)` is called when a button is clicked, with None for the one that leaves everything as it is.

    It is called for every click, on the thread that handles comm messages; what it raises is logged.
    """

    def __init__(self, fields: Sequence[Field], apply: str, on_done: Callable[[Picks | None], None]) -> None:
        self._on_done = on_done
        self._fields = [_control(field) for field in fields]
        self._buttons = [self._button(apply, "primary", self._picks), self._button("Leave as it is", "", lambda: None)]
        row = HBox(self._buttons, layout=Layout(flex_flow="row wrap", margin="2px 0 6px 0"))
        self._box = VBox([HTML(_STYLE), *self._fields, row], layout=Layout(width="auto", max_width="100%"))
        self._box.add_class(_CLASS)

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows it where there are widgets; add what is shown elsewhere."""
        return {WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}}

    def probe(self, on_drawn: Callable[[], None]) -> None:
        """See `probe.py`."""
        probe(self._box, on_drawn)

    def close(self) -> None:
        """Take it out of the front end; closing twice is closing once."""
        close(self._box)

    def _picks(self) -> Picks:
        return tuple(field.index for field in self._fields)

    def _button(self, name: str, style: str, picks: Callable[[], Picks | None]) -> Button:
        button = Button(description=name, button_style=style, layout=Layout(width="auto"))
        button.on_click(lambda _: self._done(picks()))
        return button

    def _done(self, picks: Picks | None) -> None:
        try:
            self._on_done(picks)
        except Exception:
            _log.exception("a choice was lost")


def _control(field: Field) -> Widget:
    """Buttons side by side for a few short names, an open list where that is wanted, else a list that opens."""
    names = unlike(map(shortened, field.names))
    common = {
        "options": [(name, number) for number, name in enumerate(names)],
        "index": field.current,
        "description": shortened(field.label),
        "layout": Layout(width="auto", max_width="100%"),
    }
    if field.tall:
        return Select(rows=min(len(names), MOST_ROWS), style=_WIDE, **common)
    if len(names) <= FEW and sum(map(len, names)) <= SHORT:
        return ToggleButtons(tooltips=[*field.hints] or names, style=_WIDE | {"button_width": "auto"}, **common)
    return Dropdown(style=_WIDE, **common)


def unlike(names: Iterable[str]) -> list[str]:
    """ipywidgets finds a choice by its name: whoever has the name of another gets a number."""
    unlike: list[str] = []
    for number, name in enumerate(names, 1):
        while name in unlike:
            name = f"{name} [{number}]"
        unlike.append(name)
    return unlike
