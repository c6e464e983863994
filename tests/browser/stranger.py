"""A cell of a stranger's notebook, whose saved outputs run scripts wherever they are trusted."""

from typing import Any

from nbformat.v4 import new_code_cell, new_output
from playwright.sync_api import Page

RAN = "(window.stranger ??= []).push('{}')"
_IMAGE = f'<img src="data:," onerror="{RAN}">'
SCRIPTS = {
    "application/javascript": RAN.format("javascript"),
    "text/html": _IMAGE.format("html"),
    "text/markdown": _IMAGE.format("markdown"),
}
"""Each kind of script that JupyterLab runs in trusted outputs. Those of an image/svg+xml do not run."""
NAMES = ["html", "javascript", "markdown"]
TEXT = "a stranger's text"


def strangers_cell(source: str, count: int | None = 7) -> dict[str, Any]:
    """A cell with two outputs for each script. `count` is the prompt number that was saved, None while a cell runs."""
    outputs = [
        new_output(kind, {mime: script, "text/plain": TEXT}, execution_count=count)
        if kind == "execute_result"
        else new_output(kind, {mime: script, "text/plain": TEXT})
        for kind in ("display_data", "execute_result")
        for mime, script in SCRIPTS.items()
    ]
    return dict(new_code_cell(source, execution_count=count, outputs=outputs))


def ran(page: Page) -> list[str]:
    """The scripts that have run."""
    # An image that comes later fails later.
    return list(
        page.evaluate("""async () => {
          await new Promise(done => { const last = new Image(); last.onerror = done; last.src = 'data:,'; });
          return window.stranger ?? [];
        }""")
    )
