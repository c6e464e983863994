"""A body that cannot be read as a JSON object, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .api import CHAT, JSON, Api, raw, user

HELLO = json.dumps({"messages": user("demo: say Hello")})


@pytest.mark.parametrize(("kind", "body", "status"), [
    ("text/plain", HELLO, 415), ("", HELLO, 415), ("application/json", "{", 400), ("application/json", "[]", 400),
    ("application/json", "", 400), ("application/json", "[" * 100_000, 400), ("application/json", b"\xff\xfe", 400),
])  # fmt: skip
async def test_a_body_that_is_no_json_object_is_refused(api: Api, kind: str, body: Any, status: int) -> None:
    got = await raw(api, "POST", CHAT, content=body, headers={**api.bearer, "Content-Type": kind})
    error = got.json()["error"]
    assert (got.status_code, error["code"], error["type"]) == (status, status, "invalid_request_error")


@pytest.mark.parametrize(("body", "words"), [
    ("{", "is no JSON: Expecting property name enclosed in double quotes, line 1, column 2"),
    (b"\xff\xfe\xff", "is no JSON: its bytes are no UTF-8"),
    ("[" * 100_000, "is nested too deeply"),
    ('{"x": ' + "1" * 5000 + "}", "holds a number that is too long"),
])  # fmt: skip
async def test_why_a_body_cannot_be_read_is_told(api: Api, body: Any, words: str) -> None:
    got = await raw(api, "POST", CHAT, content=body, headers={**api.bearer, **JSON})
    assert (got.status_code, got.json()["error"]["message"]) == (400, f"The body {words}.")
