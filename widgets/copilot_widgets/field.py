"""One setting to choose, as plain data: describing a picker does not load ipywidgets."""

from __future__ import annotations

from dataclasses import dataclass


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
