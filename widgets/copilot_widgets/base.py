"""What every widget of ours does: show itself, detect that it is drawn, report clicks, and leave the front end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from ipywidgets import Box, Layout, VBox, Widget  # type: ignore[attr-defined]

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
MAX_NAME_CHARS = 200

_log = logging.getLogger(__name__)


class Interactive:
    """A box of widgets. Callbacks run on the thread that handles comm messages; what they raise is logged."""

    def __init__(self, box: VBox) -> None:
        self._box = box

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows it where there are widgets; add what is shown elsewhere."""
        return {WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}}

    def probe(self, on_drawn: Callable[[], None]) -> None:
        """Call `on_drawn` whenever a client has drawn the box: an invisible widget in it counts its views."""

        def counted(change: dict[str, int | None]) -> None:
            if change["new"]:
                on_drawn()

        mark = Box(_view_count=0, layout=Layout(display="none"))
        mark.observe(counted, "_view_count")
        self._box.children = (*self._box.children, mark)

    def close(self) -> None:
        """Remove it from the front end. Later clicks are ignored; closing twice is harmless.

        Layouts and styles are models of their own. The shown widgets close first, so that nothing is drawn half.
        """
        shown = list(_with_children(self._box))
        hidden = (getattr(part, name, None) for part in shown for name in ("layout", "style"))
        for part in dict.fromkeys((*shown, *(model for model in hidden if isinstance(model, Widget)))):
            part.close()


def log_errors(act: Callable[[], object]) -> None:
    """Run the callback of a click; the thread that handles comm messages must survive what it raises."""
    try:
        act()
    except Exception:
        _log.exception("a click was lost")


def shortened(name: str) -> str:
    """`name` on one line, its middle left out if it is long, never empty."""
    line = " ".join(name.split()) or "(no name)"
    if len(line) <= MAX_NAME_CHARS:
        return line
    half = MAX_NAME_CHARS // 2
    return f"{line[: half - 1]} … {line[-half + 2 :]}"


def _with_children(widget: Widget) -> Iterator[Widget]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _with_children(child)
