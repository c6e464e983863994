"""A question with one button for each answer; closing it takes every model of it out of the front end.

Texts in, the number of the button out. It leaves to others what the question is about, whether a click still counts,
and what stands in its place afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ipywidgets import HTML, Button, HBox, Layout, VBox  # type: ignore[attr-defined]

from .parts import close

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LONGEST_NAME = 200

_CLASS = "copilot-question"
_STYLE = f"""<style>
.{_CLASS} .widget-html-content {{ font-size: 14px; line-height: 1.6 }}
.{_CLASS} .jupyter-button {{ white-space: normal; height: auto; min-height: 28px; line-height: 1.4; padding: 4px 12px;
  text-align: left; overflow-wrap: anywhere }}
.{_CLASS} .jupyter-button:focus-visible {{ outline: 2px solid currentcolor; outline-offset: 2px }}
</style>"""
"""Long names wrap, the text is as large as that of other outputs, and whoever uses the keyboard sees where it is."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: `name` is what its button says, `hint` what a pointer or a screen reader says of it besides.

    `style` is a button style of ipywidgets: primary, success, info, warning, danger or empty.
    """

    name: str
    hint: str = ""
    style: str = ""


class PermissionQuestion:
    """`details` is HTML that is safe already: it is shown as it is. Names and hints are text, whatever they hold.

    `on_choice(number)` is called for every click, on the thread that handles comm messages; what it raises is logged.
    """

    def __init__(self, details: str, choices: Sequence[Choice], on_choice: Callable[[int], None]) -> None:
        self._on_choice = on_choice
        self._wide = Layout(width="auto", max_width="100%")
        self._buttons = [self._button(number, choice) for number, choice in enumerate(choices)]
        self._flush = Layout(width="auto", max_width="100%", margin="0")
        self._details = HTML(_STYLE + details, layout=self._flush)
        self._row = HBox(self._buttons, layout=Layout(flex_flow="row wrap", margin="2px 0 6px 11px"))
        self._box = VBox([self._details, self._row], layout=self._flush)
        self._box.add_class(_CLASS)

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows it where there are widgets; add what is shown elsewhere."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}
        return {WIDGET_VIEW: view}

    def close(self) -> None:
        """Take it out of the front end. Clicks that are on their way find nobody; closing twice is closing once."""
        close(self._box)

    def _button(self, number: int, choice: Choice) -> Button:
        hint = f"{choice.name}: {choice.hint}" if choice.hint else choice.name
        button = Button(description=shortened(choice.name), tooltip=hint, button_style=choice.style, layout=self._wide)
        button.on_click(lambda _: self._choose(number))
        return button

    def _choose(self, number: int) -> None:
        try:
            self._on_choice(number)
        except Exception:
            _log.exception("a click on answer %d was lost", number)


def shortened(name: str) -> str:
    """`name` for a button: on one line, its middle left out if it is long (the hint has all of it), never empty."""
    line = " ".join(name.split()) or "(no name)"
    if len(line) <= LONGEST_NAME:
        return line
    half = LONGEST_NAME // 2
    return f"{line[: half - 1]} … {line[-half + 2 :]}"
