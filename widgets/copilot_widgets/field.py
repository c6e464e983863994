"""One setting to choose, as plain data: describing a picker does not load ipywidgets."""

from __future__ import annotations

from dataclasses import dataclass

Picks = tuple[int | None, ...]
"""For each field the index of the chosen name, or None."""


@dataclass(frozen=True, slots=True)
class PickerField:
    """`names` are the choices, `hints` longer forms of them, `words` what may be typed where there are no widgets.
    `tall`: as an open list."""

    label: str
    names: tuple[str, ...]
    current: int | None = None
    hints: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    tall: bool = False
