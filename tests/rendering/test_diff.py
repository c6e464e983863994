"""Changes of files."""

from __future__ import annotations

import re
import time

import pytest
from copilot_kernel.rendering.diff import (
    Change,
    DiffLine,
    between,
    between_cells,
    change_box,
    diff_html,
    diff_text,
    parse_unified,
    unified,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from .allowed import problems, text_of

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\r\n", "\n"]), max_size=30).map("".join)


def numbers(change: Change) -> list[tuple[str, int | None, int | None, str]]:
    return [(line.mark, line.old, line.new, line.text) for line in change.lines]


@given(LINES.filter(bool), LINES)
def test_the_new_text_can_be_built_from_the_old_one_and_the_change(old, new):
    lines, shift = old.split("\n"), 0
    for line in between(old, new).lines:
        if line.mark == "-":
            assert lines.pop(line.old - 1 + shift) == line.text
            shift -= 1
        if line.mark == "+":
            lines.insert(line.new - 1, line.text)
            shift += 1
    assert "\n".join(lines).rstrip("\n") == new.rstrip("\n")


@given(LINES.filter(bool), LINES)
def test_what_we_write_as_a_unified_diff_reads_back(old, new):
    change = between(old, new)
    back = parse_unified(unified(change, "x")) or Change(())
    lines = [(mark, old, new, text.replace("\r", "⟨CR⟩")) for mark, old, new, text in numbers(change)]
    assert [line for line in numbers(back) if line[0] != "@"] == [line for line in lines if line[0] != "@"]


@pytest.mark.parametrize(("old", "new", "change"), [
    (None, "a\n", Change((DiffLine("@", "", 1, 1), DiffLine("+", "a", None, 1)), "new file")),
    ("", "a", Change((DiffLine("@", "", 1, 1), DiffLine("+", "a", None, 1, ends=False)), "new file")),
    (None, "", Change((), "new file")),
    ("a", "", Change((DiffLine("@", "", 1, 1), DiffLine("-", "a", 1, None, ends=False)), is_excerpt=True)),
    ("a", "b", Change((DiffLine("@", "", 1, 1), DiffLine("-", "a", 1), DiffLine("+", "b", None, 1)), is_excerpt=True)),
    ("a\n", "a", Change((DiffLine("@", "", 1, 1), DiffLine("-", "a", 1), DiffLine("+", "a", None, 1, ends=False)),
            is_excerpt=True)),
    ("a\r\n", "a\n",
     Change((DiffLine("@", "", 1, 1), DiffLine("-", "a\r", 1), DiffLine("+", "a", None, 1)), is_excerpt=True)),
])  # fmt: skip
def test_small_changes(old, new, change):
    assert between(old, new) == change


def test_a_part_of_a_file_is_not_presented_as_the_file():
    part = between("two", "TWO")
    assert diff_text(part, "a.py").split("\n")[0] == "(line numbers of the excerpt)"
    assert "line numbers of the excerpt" in diff_html(part, "a.py")
    assert "within" not in diff_text(between(None, "x\n"), "a.py") + diff_html(between(None, "x\n"), "a.py")


@pytest.mark.parametrize(("old", "new", "words"), [
    (None, "a", "(new cell, +1)\n--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+a"),
    ("a\nb", "a", "--- x\n+++ x\n@@ -1,2 +1 @@\n a\n-b"),
    ("a", "", "--- x\n+++ x\n@@ -1 +0,0 @@\n-a"),
    (None, "", "x: empty"),
])  # fmt: skip
def test_a_cell_is_whole_and_ends_without_a_newline(old, new, words):
    assert diff_text(between_cells(old, new), "x") == words


@pytest.mark.parametrize(("change", "words"), [
    (between("a", "a"), "x: no difference"),
    (between(None, ""), "x: empty"),
    (between(None, "a\n"), "(new file, +1)\n--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+a"),
    (parse_unified("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
     "(deleted, −1)\n--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a"),
])  # fmt: skip
def test_a_change_in_words(change, words):
    assert diff_text(change, "x") == words


@pytest.mark.parametrize(("text", "what"), [
    ("--- a/dev/null\n+++ b/x\n@@ -1,0 +1,1 @@\n+a\n", "new file"),
    ("Index: x\n=========================\n--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n", "new file"),
    ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "deleted"),
])  # fmt: skip
def test_a_diff_says_what_becomes_of_the_file(text, what):
    assert parse_unified(text).what == what


@pytest.mark.parametrize("text", [
    "", "no diff", "@@", "@@ -1 +1 @@\nx\n", "text\n@@ -1 +1 @@\n-a\n", "@@ -1 +1 @@\n-a\ndiff --git a/x b/x\n",
    "@@ -a +1 @@\n-a\n",
])  # fmt: skip
def test_what_is_no_diff_of_one_file_is_not_read(text):
    assert parse_unified(text) is None


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(["@@ -1 +1 @@\n", "+a\n", "-b\n", " c\n", "\\ No newline\n", "\n", "--- x\n", "@@", "x"])
    ).map("".join)
)
def test_any_text_can_be_taken_for_a_diff(text):
    change = parse_unified(text)
    assert change is None or problems(diff_html(change, "x") + change_box(change)) == []


def test_a_long_change_is_folded():
    assert diff_html(between(None, "a\n" * 39), "x").startswith("<div>")
    assert diff_html(between(None, "a\n" * 40), "x").startswith("<details>")


@pytest.mark.parametrize(("change", "count"), [(lambda n: n % 2, 2_000), (lambda n: n % 50 == 0, 100_000)])
def test_time_is_bounded(change, count):
    old = "".join(f"line {n}\n" for n in range(count))
    new = "".join(f"line {n}{' changed' * bool(change(n))}\n" for n in range(count))
    began = time.process_time()
    found = between(old, new)
    assert found.count("+") == found.count("-") > 0
    assert time.process_time() - began < 5


def test_what_is_too_long_to_compare_says_so():
    old = "".join(f"{n}\n" for n in range(6000))
    change = between(old, "x\n" + old + "y\n")
    assert (change.is_rough, change.count("+"), change.count("-")) == (True, 6002, 6000)
    assert "not compared line by line" in diff_html(change, "x")
    assert "(not compared line by line)" in diff_text(change, "x")


OLD = "one\ntwo\nthree\nfour\n"
SIDE = re.compile(r'<span class="cq-side cq-(old|new)" style="[^"]*flex:1 1 400px[^"]*">')


def lines(change: Change) -> list[str]:
    """As they are read where there is no room: a unified diff with numbers."""
    return text_of(change_box(change)).split("\n")[:-1]


def test_parts_in_a_row_stand_beside_what_they_replace() -> None:
    change = parse_unified("@@ -1,2 +1,2 @@\n-a\n+A\n-b\n+B\n")
    assert change is not None
    assert SIDE.findall(change_box(change)) == ["old", "new"] * 2
    assert lines(change) == ["1   - a", "  1 + A", "2   - b", "  2 + B"]


@pytest.mark.parametrize("change", [between(None, OLD), parse_unified("--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")])
def test_a_new_or_deleted_file_has_one_side(change: Change) -> None:
    assert SIDE.findall(change_box(change)) == []
    assert len(lines(change)) == len(change.lines) - 1


def test_a_missing_line_feed_and_a_carriage_return_are_seen() -> None:
    shown = "\n".join(lines(between("a\r\n", "a\nb")))
    assert "a⟨CR⟩" in shown
    assert "b (no newline at end of file)" in shown
