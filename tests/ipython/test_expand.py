"""What of a prompt is filled in from the user's variables."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from copilot_kernel.ipython.expand import expand
from IPython.utils.text import DollarFormatter

NAMES = {"n": 3, "name": "Ada", "rows": [1, 2, 3], "obj": SimpleNamespace(value=7), "größe": 5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no fields", "no fields"),
        ("{n} and {n + 1}", "3 and 4"),
        ("{rows[1:]}", "[2, 3]"),
        ("{name!r}", "'Ada'"),
        ("$n $name $obj.value", "3 Ada 7"),
        ("don't skip $n, it's $name", "don't skip 3, it's Ada"),
        ("$größe", "5"),
        ("$$n is a name", "$n is a name"),
        ("{{n}} is {n}", "{n} is 3"),
        ("a price of $5, or $5.50", "a price of $5, or $5.50"),
        ("$HOME and $n", "$HOME and 3"),
        ("$$ and $", "$$ and $"),
        ("$n.", "3."),
    ],
)
def test_expressions_in_braces_and_names_after_a_dollar_are_filled_in(text: str, expected: str) -> None:
    assert expand(text, NAMES) == (expected, "")


@pytest.mark.parametrize("text", ['{"a": {"b": 1}}', "d = {}", "{unknown}", "f(x) { return x }", "}", "{", "{1/0}"])
def test_a_prompt_with_other_braces_stays_as_it_is(text: str) -> None:
    assert expand(text, NAMES) == (text, "")


@pytest.mark.parametrize("text", ["{n} {unknown}", '{n} and {"a": 1}', "{name.nothing}", "{n} }"])
def test_the_user_is_told_when_something_known_was_not_filled_in(text: str) -> None:
    same, warning = expand(text, NAMES)
    assert (same, warning.startswith("Expressions in braces were not filled in (")) == (text, True)
    assert len(warning.splitlines()) == 1


@pytest.mark.parametrize("text", ["{n} {rows[0]} $name", "{{}} {n}", "{unknown}", "{n", "x {n!r} $$n"])
def test_ipython_itself_does_the_same_with_these(text: str) -> None:
    try:
        expected = DollarFormatter().vformat(text, [], NAMES)
    except Exception:
        expected = text
    assert expand(text, NAMES)[0] == expected
