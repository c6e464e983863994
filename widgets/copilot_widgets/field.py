"""One thing to choose or to enter, as plain data: describing a picker or a form does not load ipywidgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Entered = str | bool | tuple[int, ...]
"""Text, whether a box is ticked, or the indices of the selected choices."""


@dataclass(frozen=True, slots=True)
class PickerField:
    """`names` are the choices, `hints` longer forms of them.

    With an `action`, each choice is a row with a button of that name.
    """

    label: str
    names: tuple[str, ...]
    current: int | None = None
    hints: tuple[str, ...] = ()
    action: str = ""


@dataclass(frozen=True, slots=True)
class FormInput:
    """One thing to enter: `text` (numbers too, since a number input cannot be empty), a box to `tick`, `one` or `many`
    of the `choices`. `value` is the initial value, `empty` the label for no choice.
    """

    kind: Literal["text", "tick", "one", "many"]
    label: str
    hint: str = ""
    choices: Sequence[str] = ()
    value: Entered = ""
    empty: str = "(choose)"
