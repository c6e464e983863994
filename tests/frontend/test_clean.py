"""What an agent sent may hold anything; a Jupyter message is JSON in UTF-8."""

from __future__ import annotations

import json
from typing import Any

import pytest
from copilot_kernel.frontend.clean import clean


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ({"a": [1, True, None, 2.5, "ä 😀"]}, {"a": [1, True, None, 2.5, "ä 😀"]}),
        ([float("nan"), float("inf"), -float("inf")], [None, None, None]),
        ("half a pair: \ud83d", "half a pair: \ufffd"),
        ("both halves: \ud83d\ude00", "both halves: 😀"),
        ({"\udc80": b"\x00\xff"}, {"\ufffd": "AP8="}),
        ((1, {2}), [1, [2]]),
        ({3: object}, {"3": str(object)}),
    ],
)
def test_any_value_becomes_json(value: Any, cleaned: Any) -> None:
    assert clean(value) == cleaned
    json.dumps(clean(value), allow_nan=False, ensure_ascii=False).encode()


def test_what_is_nested_too_deep_is_cut() -> None:
    assert "core" in json.dumps(clean(nested(64)))
    assert json.loads(json.dumps(clean(nested(900)))) == clean(nested(65))
