"""Completion and inspection of commands, without a kernel."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import Command
from copilot_kernel.jupyter.completion import complete, help_line, known_commands
from copilot_kernel.jupyter.inspection import inspect

COMMANDS = known_commands([Command("review", "Look it over", hint="FILE"), Command("reset", "Begin again")])


@pytest.mark.parametrize(
    ("code", "cursor", "matches", "start"),
    [
        ("/re", 3, ["/reset", "/review"], 0),
        ("/rev", 4, ["/review"], 0),
        ("%", 1, ["%help"], 0),
        ("😀\n  /res now", 8, ["/reset"], 4),
        ("see /re", 7, [], 7),
        ("/review it", 10, [], 10),
        ("", 0, [], 0),
    ],
)
def test_commands_are_completed_at_the_beginning_of_a_line(
    code: str, cursor: int, matches: list[str], start: int
) -> None:
    completed = complete(code, cursor, COMMANDS)
    assert (completed["matches"], completed["cursor_start"], completed["cursor_end"]) == (matches, start, cursor)


@pytest.mark.parametrize(
    ("code", "cursor", "about"),
    [
        ("/review a.py", 3, "/review FILE\n\nLook it over"),
        ("first\n/reset", 12, "Begin again"),
        ("%help", 0, "List what can be typed into a cell."),
        ("/review a.py", 10, None),
        ("/unknown", 3, None),
    ],
)
def test_the_command_under_the_cursor_is_explained(code: str, cursor: int, about: str | None) -> None:
    assert inspect(code, cursor, COMMANDS)["data"].get("text/plain") == about


def test_a_command_and_how_it_is_used_take_one_line_of_the_help() -> None:
    assert [help_line(name, about) for name, about in COMMANDS.items()] == [
        "%help  List what can be typed into a cell.",
        "/review FILE  Look it over",
        "/reset  Begin again",
    ]
