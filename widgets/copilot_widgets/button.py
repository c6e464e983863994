"""One answer as a button: its name is text, whatever it holds, and on one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipywidgets import Button, Layout  # type: ignore[attr-defined]

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: `name` is what its button says, `hint` what a pointer or a screen reader says of it besides.

    `style` is a button style of ipywidgets: primary, success, info, warning, danger or empty. `guarded`: no click on
    it counts until the question is released. `quiet`: it stands back, behind the others. `remark` follows the name.
    """

    name: str
    hint: str = ""
    style: str = ""
    guarded: bool = False
    quiet: bool = False
    remark: str = ""


def button(choice: Choice, on_click: Callable[[], None]) -> Button:
    """The button of `choice`; one that is guarded begins disabled."""
    words = f"{shortened(choice.name)} ({choice.remark})" if choice.remark else shortened(choice.name)
    made = Button(
        description=words,
        tooltip=f"{choice.name}: {choice.hint}" if choice.hint else choice.name,
        button_style=choice.style,
        disabled=choice.guarded,
        layout=Layout(width="auto", max_width="100%"),
    )
    made.on_click(lambda _: on_click())
    for name, is_so in (("copilot-quiet", choice.quiet), ("copilot-guarded", choice.guarded)):
        if is_so:
            made.add_class(name)
    return made


def shortened(name: str) -> str:
    """`name` for a button: on one line, its middle left out if it is long (the hint has all of it), never empty."""
    line = " ".join(name.split()) or "(no name)"
    if len(line) <= LONGEST_NAME:
        return line
    half = LONGEST_NAME // 2
    return f"{line[: half - 1]} … {line[-half + 2 :]}"
