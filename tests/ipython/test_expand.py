"""Which of the user's variables go along with a prompt."""

from __future__ import annotations

import pytest
from copilot_kernel.ipython.transform import values_of

NAMES = {"n": 3, "name": "Ada", "rows": [1, 2], "größe": 5}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("no names", {}),
        ("$n and {name}", {"n": "3", "name": "Ada"}),
        ("don't skip $n, it's $n", {"n": "3"}),
        ("$größe.real {rows}", {"größe": "5", "rows": "[1, 2]"}),
        ("a price of $5, $HOME and {unknown}", {}),
        ("{n + 1} {rows[0]} {name!r} {n:>4} { n } {__import__('os').abort()}", {}),
    ],
)
def test_plain_names_that_are_known_go_along_and_nothing_is_evaluated(line: str, values: dict[str, str]) -> None:
    assert values_of(line, NAMES) == values
