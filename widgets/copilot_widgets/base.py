"""Base of our widgets: show itself, detect that it is drawn, report clicks, and leave the front end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ipywidgets import HTML, Box, Button, Layout, VBox, Widget  # type: ignore[attr-defined]

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
MAX_NAME_CHARS = 200

CLASS = "copilot-question"
ASKED = "copilot-asked"
"""Class of the display above the buttons that says what is asked."""

OF_FAILURE = "copilot-of-failure"
"""Class of a question that the card of a failure above it has said."""

BOXED = "copilot-boxed"
"""Class of a box that says itself what is asked, in the colours of the front end."""

OVER = "The kernel that asked this has stopped. The question can no longer be answered."
"""Shown in place of the buttons by front ends that mark widgets without a kernel."""

STYLE = f"""<style>
.{CLASS} {{ overflow: visible; color: var(--jp-content-font-color1);
  border-left: 3px solid color-mix(in srgb, currentcolor 45%, #9f7010) }}
.jp-OutputArea-child:has(+ .jp-OutputArea-child .{CLASS}) .{ASKED} {{ margin-bottom: 0 !important }}
.jp-OutputArea-child:has(.{OF_FAILURE}):has(+ .jp-OutputArea-child .{CLASS}) {{ display: none }}
.jp-OutputArea-child:has(.{OF_FAILURE}) + .jp-OutputArea-child .{CLASS} {{
  border-left-color: color-mix(in srgb, currentcolor 45%, #d74540); margin-top: -6px }}
.{CLASS} > .widget-html .widget-html-content > div {{ border-left: none !important }}
.{CLASS} .widget-html-content {{ font-size: 14px; line-height: 1.6; overflow-wrap: anywhere }}
.{CLASS} .widget-html {{ height: auto; min-height: 0 }}
.{CLASS} .jupyter-button {{ white-space: normal; height: auto; min-height: 30px; line-height: 1.4; padding: 4px 14px;
  text-align: left; overflow-wrap: anywhere }}
.{CLASS} .jupyter-button.copilot-quiet {{ background: none }}
.{CLASS} .jupyter-button.copilot-quiet:hover {{ background: #8882 }}
.{CLASS} .jupyter-button:disabled {{ cursor: default }}
@keyframes copilot-appear {{ from {{ pointer-events: none }} }}
.{CLASS} .copilot-guarded {{ animation: copilot-appear 1s step-end }}
.{CLASS}:focus-visible, .{CLASS} .jupyter-button:focus-visible, .{CLASS} pre:focus-visible, .{ASKED} pre:focus-visible,
.{CLASS} input:focus-visible, .{CLASS} textarea:focus-visible {{ outline: 2px solid currentcolor; outline-offset: 2px }}
.{CLASS} .copilot-entry {{ border-left: 3px solid #8886; padding-left: 10px }}
.{CLASS} .copilot-entry .widget-text, .{CLASS} .copilot-entry .widget-textarea {{ flex-flow: row wrap; height: auto }}
.{CLASS} .copilot-entry .widget-label {{ height: auto; white-space: normal; overflow-wrap: anywhere; width: 100%;
  text-align: left; font-weight: bold }}
.{CLASS} .copilot-entry input[type=text], .{CLASS} .copilot-entry textarea {{ flex: 1 1 100%; font-size: 13px;
  font-family: Menlo, Consolas, monospace }}
.{CLASS}.jupyter-widgets-disconnected::after {{ content: "{OVER}"; margin: 4px 11px; font-size: 14px }}
.{CLASS}.jupyter-widgets-disconnected button, .{CLASS}.jupyter-widgets-disconnected::before,
.{CLASS} .jupyter-widgets-disconnected::before {{ display: none }}
.jp-OutputArea-child:has(+ .jp-OutputArea-child .{CLASS}) .{ASKED}-open, .{CLASS} .{ASKED}-open {{ display: none }}
.cell-output-ipywidget-background:has(.{BOXED}) {{ background: none !important; padding: 0 }}
.{BOXED}, .{BOXED} .widget-html-content, .{BOXED} label, .{BOXED} .widget-label,
.{BOXED} .jupyter-button.copilot-quiet {{
  color: var(--vscode-editor-foreground, #111) }}
.{BOXED} {{ background: var(--vscode-editor-background, #fff); padding: 4px 0 4px 8px }}
@media (prefers-reduced-motion: no-preference) {{
  .{CLASS} .jupyter-button {{ transition: opacity 0.2s }}
}}
</style>"""
"""Long names wrap, text is as large as in other outputs, and the keyboard focus is visible.

Above buttons, remarks for saved notebooks are hidden. A page that lags behind the kernel must not accept a click on a
guarded answer that it has just drawn: the animation lasts longer than the kernel's own guard, since a slow page dates
it back to before it drew.
"""

_log = logging.getLogger(__name__)


class Interactive:
    """A box of widgets. Callbacks run on the thread that handles comm messages; what they raise is logged.

    The `guarded` buttons can be disabled.
    """

    def __init__(self, box: VBox, guarded: Sequence[Button] = ()) -> None:
        self._box, self._guarded = box, guarded

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle that shows it where there are widgets; add what is shown elsewhere."""
        return {WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}}

    def say(self, html: str) -> None:
        """Say above everything else what is asked: HTML of ours, in which all foreign text is escaped."""
        self._box.children = (HTML(html, layout=Layout(width="auto", margin="0")), *self._box.children)
        self._box.add_class(BOXED)

    def number(self, number: int, count: int) -> None:
        """Show which of several open questions this is, where there is room for it."""

    def guard(self, *, holds: bool) -> None:
        """Disable the guarded buttons, or enable them again."""
        for button in self._guarded:
            button.disabled = holds

    def probe(self, on_drawn: Callable[[], object]) -> None:
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
