"""A change whose old and new lines stand side by side where there is room."""

from __future__ import annotations

import re

import pytest
from copilot_kernel.rendering.diff import Change, between, parse_unified
from copilot_kernel.rendering.side_by_side import change_box

from .allowed import problems, text_of

OLD = "one\ntwo\nthree\nfour\n"
SIDE = re.compile(r'<span class="cq-side cq-(old|new)" style="[^"]*flex:1 1 400px[^"]*">')


def lines(change: Change) -> list[str]:
    """As they are read where there is no room: a unified diff with numbers."""
    return text_of(change_box(change, "x")).split("\n")[:-1]


def test_it_reads_as_a_unified_diff() -> None:
    assert lines(between(OLD, "one\nTWO\nTHREE\nfour\nfive\n")) == [
        "1 1   one",
        "2   - two",
        "3   - three",
        "  2 + TWO",
        "  3 + THREE",
        "4 4   four",
        "  5 + five",
    ]


def test_each_replaced_part_has_two_sides() -> None:
    html = change_box(between(OLD, "one\nTWO\nthree\nfour\nfive\n"), "x")
    assert SIDE.findall(html) == ["old", "new", "old", "new"]


def test_parts_in_a_row_stand_beside_what_they_replace() -> None:
    change = parse_unified("@@ -1,2 +1,2 @@\n-a\n+A\n-b\n+B\n")
    assert change is not None
    assert SIDE.findall(change_box(change, "x")) == ["old", "new"] * 2
    assert lines(change) == ["1   - a", "  1 + A", "2   - b", "  2 + B"]


@pytest.mark.parametrize("change", [between(None, OLD), parse_unified("--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")])
def test_a_new_or_deleted_file_has_one_side(change: Change) -> None:
    assert SIDE.findall(change_box(change, "x")) == []
    assert len(lines(change)) == len(change.lines) - 1


def test_later_parts_are_marked_with_what_they_are_in() -> None:
    change = parse_unified("@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@ def f():\n-c\n+d\n")
    assert change is not None
    assert lines(change)[2] == "⋯ def f():"


def test_a_missing_line_feed_and_a_carriage_return_are_seen() -> None:
    shown = "\n".join(lines(between("a\r\n", "a\nb")))
    assert "a⟨CR⟩" in shown
    assert "b (no line feed at the end)" in shown


def test_nothing_is_hidden_and_nothing_is_more_than_text() -> None:
    html = change_box(between("a\n", "\u202e<script>\n"), '"><script>')
    assert "⟨U+202E⟩" in html
    assert problems(html) == []


def test_no_difference_has_no_box() -> None:
    assert change_box(between("a", "a"), "x") == ""
