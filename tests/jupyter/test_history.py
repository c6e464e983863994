"""What front ends may ask of the history."""

from typing import Any

import pytest
from copilot_kernel.jupyter.history import select


@pytest.mark.parametrize(
    ("access", "choice", "numbers"),
    [
        ("tail", {"n": 2}, [4, 5]),
        ("tail", {}, [1, 2, 4, 5]),
        ("range", {"start": 2, "stop": 5}, [2, 4]),
        ("search", {"pattern": "say*"}, [1, 2, 5]),
        ("search", {"pattern": "say*", "n": 1}, [5]),
        ("search", {"pattern": "*", "unique": True}, [2, 4, 5]),
        ("search", {"pattern": "[x"}, []),
    ],
)
def test_history_is_given_oldest_first(access: str, choice: dict[str, Any], numbers: list[int]) -> None:
    history = [(0, 1, "say hello"), (0, 2, "say more"), (0, 4, "%help"), (0, 5, "say hello")]
    assert [line[1] for line in select(history, access, **choice)] == numbers
