"""One thing to choose, in words; for whoever wants to describe a picker without loading ipywidgets."""

from __future__ import annotations

from dataclasses import dataclass

Picks = tuple[int | None, ...]
"""For each field the number of what is chosen, or None."""


@dataclass(frozen=True, slots=True)
class Field:
    """`label` says what is chosen, `names` what there is, `hints` the same at more length, `words` what may be typed
    for it where there are no widgets. `tall`: a list that stands open."""

    label: str
    names: tuple[str, ...]
    current: int | None = None
    hints: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    tall: bool = False
