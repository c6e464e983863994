"""The main scenes have the boxes that are recorded, and nothing of them is cut off without saying so."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from .lab import Lab
from .measurements import FILE, lines, look
from .serving import running_server

pytestmark = pytest.mark.browser

AGAIN = "python -m tests.browser.measurements records the scenes anew"


@pytest.mark.timeout(600)  # fourteen scenes at two widths in two themes
def test_the_main_scenes_show_the_recorded_boxes_and_say_what_they_hide(
    context: BrowserContext, lab: Lab, tmp_path: Path
) -> None:
    with running_server(tmp_path / "server") as server:
        found = look(context, lab, server)
    assert (found.hidden, found.unlike_light) == ([], [])
    recorded = FILE.read_text("utf-8").splitlines()
    assert list(unified_diff(recorded, list(lines(found.boxes)), "recorded", "found", lineterm="", n=1)) == [], AGAIN
