"""Sources that mean the same although a model repeats them otherwise, and edits that keep what they do not touch."""

import re

import pytest
from copilot_kernel.notebook.content import MAX_COMPARED_SOURCE_CHARS, difference, edited
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
