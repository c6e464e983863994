"""The main scenes look as recorded, and nothing of them is cut off without saying so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from .lab import Lab
from .measurements import FILE, GOLDEN, TOLERANCE, look, unlike
from .serving import running_server

pytestmark = pytest.mark.browser

Scenes = dict[str, dict[str, list[Any]]]
AGAIN = "python -m tests.browser.measurements records the scenes anew"


def differences(found: Scenes, recorded: Scenes, *, pixels: bool) -> list[str]:
    """Line by line; without pixels, all that does not depend on fonts."""
    both = [[line for line in lines(scenes, 4 if pixels else 3)] for scenes in (recorded, found)]
    return list(unified_diff(*both, "recorded", "found", lineterm="", n=1))


def lines(scenes: Scenes, members: int) -> Iterator[str]:
    for name, widths in scenes.items():
        for width, boxes in widths.items():
            yield from (f"{name} {width} {box[:members]}" for box in boxes)


@pytest.mark.timeout(300)  # fourteen scenes in four pictures each
def test_the_main_scenes_look_as_recorded_and_say_what_they_hide(
    context: BrowserContext, lab: Lab, tmp_path: Path
) -> None:
    recorded = json.loads(FILE.read_text("utf-8"))
    with running_server(tmp_path / "server") as server:
        found = look(context, lab, server)
    assert (found.hidden, found.unlike_light) == ([], [])
    is_same = found.environment == recorded["environment"]
    assert differences(found.boxes, recorded["scenes"], pixels=is_same) == [], AGAIN
    if is_same:
        pictures = {path.stem: path.read_bytes() for path in GOLDEN.glob("*.png")}
        assert pictures.keys() == found.pictures.keys()
        page = context.pages[0]
        different = [name for name in pictures if unlike(page, pictures[name], found.pictures[name]) > TOLERANCE]
        for name in different:
            (tmp_path / f"{name}.png").write_bytes(found.pictures[name])
        assert different == [], f"{AGAIN}; they look as in {tmp_path}"
