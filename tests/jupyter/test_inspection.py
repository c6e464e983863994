"""What is said about the command under the cursor."""

from __future__ import annotations

import pytest
from copilot_kernel.frontend.commands import TABLE
from copilot_kernel.jupyter.completion import inspect

from .test_completion import NOW

MODE = "\n\n".join((TABLE["mode"].usage, TABLE["mode"].summary, TABLE["mode"].details))


@pytest.mark.parametrize(
    ("code", "cursor", "about"),
    [
        ("/review a.py", 3, "/review FILE\n\nLook it over"),
        ("/review a.py", 10, "/review FILE\n\nLook it over"),
        ("first\n/reset", 12, "Begin again"),
        ("/memory show it", 9, "What I know"),
        ("/$skill", 2, "/$skill"),
        ("%new", 0, f"%new\n\n{TABLE['new'].summary}"),
        ("%%mode", 5, MODE),
        ("%mode plan", 8, f"{MODE}\n\nPlan: thinks first"),
        ("%mode plan", 3, f"{MODE}\n\nPlan: thinks first"),
        ("%mode nonsense", 8, MODE),
        ("/unknown", 3, None),
        ("/resetting", 3, None),
        ("%unknown", 3, None),
        ("see /review", 6, None),
        ("%new\nsecond line", 8, None),
        ("", 0, None),
    ],
)
def test_the_command_under_the_cursor_is_explained(code: str, cursor: int, about: str | None) -> None:
    reply = inspect(code, cursor, NOW)
    assert (reply["found"], reply["data"].get("text/plain")) == (about is not None, about)
