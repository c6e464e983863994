"""Progress bars as they are now: their text in an output is that of the moment when they were shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from html import unescape
from typing import Any

from ..notebook.live import Output

_VIEW = "application/vnd.jupyter.widget-view+json"


def with_bars(outputs: Iterable[Output]) -> tuple[Output, ...]:
    """The outputs, with the present text of each progress bar."""
    module = sys.modules.get("ipywidgets.widgets.widget")
    widgets = getattr(module, "_instances", {})
    return tuple(_current(output, widgets) for output in outputs)


def _current(output: Output, widgets: Mapping[Any, Any]) -> Output:
    data = output.get("data") or {}
    view = data.get(_VIEW)
    widget = widgets.get(view.get("model_id")) if isinstance(view, dict) else None
    parts = [*getattr(widget, "children", ()), widget]
    if not any(hasattr(part, "bar_style") for part in parts):
        return output
    text = " ".join(filter(None, (_text(part).strip() for part in parts)))
    return {**output, "data": {**data, "text/plain": text}}


def _text(part: Any) -> str:
    """Of a bar: how much of it is done. Beside it: what stands there."""
    value = getattr(part, "value", None)
    if hasattr(part, "bar_style"):
        return f"{value:g}/{part.max:g}"
    return unescape(value) if isinstance(value, str) else ""
