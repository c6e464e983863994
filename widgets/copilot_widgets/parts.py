"""All models that a widget consists of: layouts and styles are models of their own, and closing it closes none."""

from __future__ import annotations

from collections.abc import Iterator

from ipywidgets import Widget  # type: ignore[attr-defined]


def close(widget: Widget) -> None:
    """Take `widget` and all that is in it out of the front end, the shown ones first, so that nothing is drawn half."""
    for part in dict.fromkeys((*_shown(widget), *_hidden(widget))):
        part.close()


def _shown(widget: Widget) -> Iterator[Widget]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _shown(child)


def _hidden(widget: Widget) -> Iterator[Widget]:
    for part in _shown(widget):
        found = (getattr(part, name, None) for name in ("layout", "style"))
        yield from (model for model in found if isinstance(model, Widget))
