"""Sources that mean the same although a model repeats them otherwise, and edits that keep what they do not touch."""

import re

import pytest
from copilot_kernel.notebook.live import NotebookError
from copilot_kernel.notebook.sources import (
    MAX_COMPARED_SOURCE_CHARS,
    NO_OLD,
    NOT_FOUND,
    NOT_UNIQUE,
    OVERLAP,
    difference,
    edited,
    source_hash,
    with_edits,
)
from hypothesis import given
from hypothesis import strategies as st

SOURCES = st.lists(st.sampled_from(["a", "b", " ", "\u00a0", "\u3000", "\t", "\n", "\r\n", ".", "é"])).map("".join)


def repeated(source: str) -> str:
    """As a model does."""
    lines = re.split(r"\r\n?|\n", re.sub("[\u00a0\u3000]", " ", source))
    return "\n".join(line.rstrip() for line in lines).rstrip()


@given(SOURCES, SOURCES)
def test_an_edit_leads_to_what_it_means_and_keeps_the_rest(own: str, source: str) -> None:
    assert difference(own, repeated(own)) == ""
    assert edited(own, repeated(own)) == own
    assert difference(edited(own, source), source) == ""


@pytest.mark.parametrize(
    ("own", "expected", "words"),
    [
        ("x = 1", "x = 0", "In line 1, the cell has 'x = 1' where 'x = 0' was expected."),
        ("a\r\n\tb  ", "a\n    b", "In line 2, the cell has '\\tb' where '    b' was expected."),
        ("a\u200bb", "ab", "In line 1, the cell has 'a\\u200bb' where 'ab' was expected."),
        ("a", "a\n\nb", "In line 1, the cell has 'a' where 'a\\n\\nb' was expected."),
        (f"{'a' * 999}b", f"{'a' * 999}c", f"In line 1, the cell has '{'a' * 20}b' where '{'a' * 20}c' was expected."),
    ],
)
def test_the_first_difference_is_named(own: str, expected: str, words: str) -> None:
    assert difference(own, expected) == words


@pytest.mark.parametrize("size", [10, MAX_COMPARED_SOURCE_CHARS])
def test_two_places_are_edited_and_all_between_is_the_cells_own(size: int) -> None:
    own = "".join(f"x{number} = 'a\u00a0b'  \r\n" for number in range(size))
    wanted = own.replace("x0 ", "y0 ").replace(f"x{size - 1} ", "last ")
    assert (
        edited(own, repeated(wanted)) == wanted
        if size == 10
        else edited(own, repeated(wanted)).count("\u00a0") > size - 3
    )


# -- parts ------------------------------------------------------------------------------------------------------------

CRLF = "if x:  \r\n    s = 'a\u00a0b'\r\n"


def pieces(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old": old, "new": new} for old, new in pairs]


@pytest.mark.parametrize(
    ("own", "pairs", "after"),
    [
        ("x = 1\ny = x", [("y = x", "y = 2"), ("x = 1", "x = 3")], "x = 3\ny = 2"),
        ("ab", [("a", "b"), ("b", "a")], "ba"),
        ("a b", [("a ", "c ")], "c b"),
        ("a\nb", [("\n", " + ")], "a + b"),
        ("x = 1", [("1", "")], "x = "),
        (CRLF, [("x:\n", "y:\n")], "if y:  \r\n    s = 'a\u00a0b'\r\n"),
        (CRLF, [("if x:", "if y:")], "if y:  \r\n    s = 'a\u00a0b'\r\n"),
        (CRLF, [("'a b'", "'a b' + c\n    t")], "if x:  \r\n    s = 'a\u00a0b' + c\r\n    t\r\n"),
        (CRLF, [("'a\u00a0b'", "'a b'")], "if x:  \r\n    s = 'a b'\r\n"),
        ("x = 1  \ny", [("x = 1   \ny", "z\ny")], "z  \ny"),
        ("x = 1\ny", [("x = 1  ", "x = 2")], "x = 2\ny"),
        ("x = 1  \ny", [("x = 1 ", "x = 2")], "x = 2\ny"),
        ("x = 1", [("x = 1 ", "x = 2")], "x = 2"),
        ("if x:\n    y", [("if x:\n    ", "if z:\n    ")], "if z:\n    y"),
        ("\ud83d x", [("x", "y")], "\ud83d y"),
    ],
)
def test_each_piece_replaces_the_characters_that_are_there(own: str, pairs: list[tuple[str, str]], after: str) -> None:
    assert with_edits(own, pieces(*pairs)) == after


@pytest.mark.parametrize(
    ("own", "pairs", "words"),
    [
        ("x", [("", "y")], NO_OLD.format(0)),
        ("x", [("x", "y"), ("", "y")], NO_OLD.format(1)),
        ("x\ny\nx", [("x", "y")], NOT_UNIQUE.format(0, 1, 3)),
        ("aaa", [("aa", "b")], NOT_UNIQUE.format(0, 1, 1)),
        ("a b\na\u00a0b", [("a b", "c")], NOT_UNIQUE.format(0, 1, 2)),
        ("x  y\nx  ", [("x  ", "c")], NOT_UNIQUE.format(0, 1, 2)),
        ("x = 1", [("x = 1", "y"), ("= 1", "z")], OVERLAP.format(0, 1)),
        ("x = 1", [("1", "y"), ("x = 1", "z")], OVERLAP.format(1, 0)),
        ("x", [("x\n", "y\n")], NOT_FOUND.format(0, 1, "x")),
        ("", [("x", "y")], NOT_FOUND.format(0, 1, "")),
        (
            "import os\n  total = price * count\n  print(total)\n",
            [("import os", "import sys"), ("    total = price * count\n    print(total)", "pass")],
            NOT_FOUND.format(1, 2, "  total = price * count\n  print(total)"),
        ),
        ("y" * 1_000, [("x", "y")], NOT_FOUND.format(0, 1, "y" * 300)),
    ],
)
def test_what_is_wrong_with_a_piece_is_said(own: str, pairs: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(NotebookError) as error:
        with_edits(own, pieces(*pairs))
    assert str(error.value) == words


@given(SOURCES, st.integers(0, 20), st.integers(1, 5), st.text("ab\n", max_size=3))
def test_a_piece_that_is_found_leaves_all_else_as_it_was(own: str, start: int, length: int, new: str) -> None:
    old = own[start : start + length].strip()
    at = own.find(old)
    try:
        after = with_edits(own, pieces((old, new)))
    except NotebookError:
        assert old == "" or len(re.findall(f"(?={re.escape(old)})", own)) != 1 or " " in old
    else:
        ends = re.findall("\r?\n", own) or ["\n"]
        assert after == own[:at] + new.replace("\n", ends[0]) + own[at + len(old) :]


def test_a_hash_stands_for_the_source() -> None:
    assert difference("x = 1", source_hash("x = 1")) == ""
    assert difference("x = 1", source_hash("x = 2")) == f"Its source no longer has the hash {source_hash('x = 2')}."
    assert difference("12345678", "12345678 ") == ""
