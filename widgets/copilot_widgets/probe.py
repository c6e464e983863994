"""Whether a client draws a box: it counts the views of the widgets in it."""

from __future__ import annotations

from collections.abc import Callable

from ipywidgets import Box, Layout  # type: ignore[attr-defined]


def probe(box: Box, on_drawn: Callable[[], None]) -> None:
    """Call `on_drawn` once a client draws an invisible widget that is added to `box`.

    Called for each client that does, on the thread that handles comm messages.
    """

    def counted(change: dict[str, int | None]) -> None:
        if change["new"]:
            on_drawn()

    mark = Box(_view_count=0, layout=Layout(display="none"))
    mark.observe(counted, "_view_count")
    box.children = (*box.children, mark)
