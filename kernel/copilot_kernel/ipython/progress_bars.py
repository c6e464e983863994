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
    widgets = getattr(sys.modules.get("ipywidgets.widgets.widget"), "_instances", {})
    return tuple(_current(output, widgets) for output in outputs)


def _current(output: Output, widgets: Mapping[Any, Any]) -> Output:
    data = output.get("data") or {}
    view = data.get(_VIEW)
    widget = widgets.get(view.get("model_id")) if isinstance(view, dict) else None
    parts = [*getattr(widget, "children", ()), widget]
    if not any(map(_is_bar, parts)):
        return output
    values = (f"{part.value:g}/{part.max:g}" if _is_bar(part) else getattr(part, "value", "") for part in parts)
    text = " ".join(unescape(value).strip() for value in values if isinstance(value, str) and value)
    return {**output, "data": {**data, "text/plain": text}}


def _is_bar(widget: Any) -> bool:
    return hasattr(widget, "bar_style")
