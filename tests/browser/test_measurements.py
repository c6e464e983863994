"""The main scenes look as recorded, and nothing of them is cut off without saying so."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from .lab import Lab
from .measurements import FILE, look
from .serving import running_server

pytestmark = pytest.mark.browser

AGAIN = "python -m tests.browser.measurements records the scenes anew"


def lines(scenes: dict[str, dict[str, list[Any]]]) -> list[str]:
    """One for each box, without its place, which depends on fonts."""
    return [
        f"{name} {width} {box[:3]}"
        for name, widths in scenes.items()
        for width, boxes in widths.items()
        for box in boxes
    ]


def test_the_main_scenes_look_as_recorded_and_say_what_they_hide(
    context: BrowserContext, lab: Lab, tmp_path: Path
) -> None:
    recorded = json.loads(FILE.read_text("utf-8"))
    with running_server(tmp_path / "server") as server:
        found = look(context, lab, server)
    assert (found.hidden, found.unlike_light) == ([], [])
    assert list(unified_diff(lines(recorded), lines(found.boxes), lineterm="", n=1)) == [], AGAIN
