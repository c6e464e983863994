"""One answer as a button. Its name is shown as plain text on one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipywidgets import Button, Layout  # type: ignore[attr-defined]

from .base import shortened


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """One answer: `name` is the button's label, `hint` its tooltip.

    `style` is a button style of ipywidgets: primary, success, info, warning, danger or empty. `guarded`: clicks count
    only while the question is released. `quiet`: shown behind the others. `remark` follows the name.
    """

    name: str
    hint: str = ""
    style: str = ""
    guarded: bool = False
    quiet: bool = False
    remark: str = ""


def button(answer: AnswerButton, on_click: Callable[[], None]) -> Button:
    """The widget for `answer`; a guarded one starts disabled."""
    name = shortened(answer.name)
    made = Button(
        description=f"{name} ({answer.remark})" if answer.remark else name,
        tooltip=f"{answer.name}: {answer.hint}" if answer.hint else answer.name,
        button_style=answer.style,
        disabled=answer.guarded,
        layout=Layout(width="auto", max_width="100%"),
    )
    made.on_click(lambda _: on_click())
    if answer.quiet:
        made.add_class("copilot-quiet")
    if answer.guarded:
        made.add_class("copilot-guarded")
    return made
