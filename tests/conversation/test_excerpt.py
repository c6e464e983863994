"""Where in a file a diff belongs."""

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.conversation.excerpt import MAX_CONTEXT_CHARS, Excerpt, find_excerpt
from hypothesis import given
from hypothesis import strategies as st

NINE = "".join(f"{number}\n" for number in range(1, 10))
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c", "\n"]), max_size=12).map("".join)


def find(old: str | None, new: str, text: str, *, is_done: bool = False) -> Excerpt | None:
    return find_excerpt(Diff("x", old, new), text, is_done=is_done)


@pytest.mark.parametrize(("old", "new", "text", "excerpt"), [
    ("5\n", "five\n", NINE, Excerpt(2, "2\n3\n4\n", "6\n7\n8\n")),
    ("5", "five", NINE, Excerpt(2, "2\n3\n4\n", "\n6\n7\n8\n")),
    ("1\n2\n", "", NINE, Excerpt(1, "", "3\n4\n5\n")),
    ("9\n", "nine\n", NINE, Excerpt(6, "6\n7\n8\n", "")),
    (NINE, "x", NINE, Excerpt(1, "", "")),
    ("b", "B", "a b c", Excerpt(1, "a ", " c")),
    ("b\n", "B\n", "a\r\nb\r\nc", Excerpt(1, "a\n", "c")),
    ("b\r\n", "B\r\n", "a\r\nb\r\nc", Excerpt(1, "a\r\n", "c")),
])  # fmt: skip
def test_a_part_is_found_with_the_lines_around_it(old, new, text, excerpt):
    assert find(old, new, text) == excerpt


@pytest.mark.parametrize(("old", "new", "text"), [
    ("a", "b", "a\na\n"),
    ("aa", "b", "aaa"),
    ("x", "y", NINE),
    (None, NINE, NINE),
    ("", "5", NINE),
    ("5\n", "", NINE.replace("5\n", "")),
    ("b", "B", f"{'a' * MAX_CONTEXT_CHARS} b"),
])  # fmt: skip
def test_what_is_not_there_exactly_once_is_not_found(old, new, text):
    assert find(old, new, text) is None


@pytest.mark.parametrize(("old", "new"), [("5\n", "five\n"), ("5\n", "5\n5.5\n"), ("4\n5\n", "4\n"), ("4\n5\n", "5\n")])
@pytest.mark.parametrize("is_done", [False, True])
def test_an_edit_is_found_before_and_after_it_was_made(old, new, is_done):
    before = find(old, new, NINE)
    assert before is not None
    assert find(old, new, NINE.replace(old, new), is_done=is_done) == before


def test_where_both_texts_are_there_the_status_decides():
    assert find("2", "5", NINE) == Excerpt(1, "1\n", "\n3\n4\n5\n")
    assert find("2", "5", NINE, is_done=True) == Excerpt(2, "2\n3\n4\n", "\n6\n7\n8\n")


@given(LINES, LINES, LINES, LINES.filter(bool))
def test_what_is_found_is_in_the_file(head, tail, new, old):
    text = f"{head}{old}{tail}"
    found = find(old, new, text)
    if found is None:
        return
    lines = text.split("\n")
    shown = [f"{found.before}{part}{found.after}" for part in (old, new)]
    assert any(text.count(part) for part in shown)
    assert lines[found.line - 1].startswith(found.before.split("\n")[0])
    assert max(found.before.count("\n"), found.after.count("\n") - 1) <= 3
