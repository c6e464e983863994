"""What is wrong, in our words: who uses the API need not know what checks a request."""

import json
from typing import Any

import pytest
from copilot_kernel.errors import (
    AgentError,
    AgentExited,
    AgentNotFound,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    CopilotError,
    UsageError,
)
from copilot_kernel.server.errors import SEE_LOG, SIGN_IN, ApiError, api_error
from copilot_kernel.server.openai.responses import read_responses
from copilot_kernel.server.openai.schema import read_chat

from .api import CHAT, Api, raw

SECRET = "what was sent"
HELLO = [{"role": "user", "content": "Hello"}]
ROLES = "'system', 'developer', 'user', 'assistant', 'tool' or 'function'"


@pytest.mark.parametrize(("member", "value", "words"), [
    ("n", 1.5, ": must be an integer"),
    ("n", 0, ": must be at least 1"),
    ("temperature", SECRET, ": must be a number"),
    ("stream", SECRET, ": must be true or false"),
    ("model", 5, ": must be a string"),
    ("user", SECRET * 50, ": must have at most 512 characters"),
    ("messages", 5, ": must be an array"),
    ("messages", [], ": is empty"),
    ("metadata", SECRET, ": must be an object"),
    ("stop", 5, ": must be a string or an array"),
    ("messages", [{"role": SECRET, "content": "x"}], f".0.role: must be {ROLES}"),
    ("messages", [{"content": "x"}], ".0.role: is missing"),
    ("messages", [SECRET], ".0: must be an object"),
    ("messages", [{"role": "user", "content": [SECRET]}], ".0.content.0: must be an object"),
])  # fmt: skip
def test_a_member_that_cannot_be_is_told_in_our_words(member: str, value: Any, words: str) -> None:
    with pytest.raises(ApiError) as error:
        read_chat({"messages": HELLO, member: value})
    assert (error.value.message, error.value.param) == (f"{member}{words}.", member)


@pytest.mark.parametrize(("read", "body", "told"), [
    (read_chat, {}, "messages: is missing."),
    (read_responses, {"input": "x", "max_output_tokens": SECRET}, "max_output_tokens: must be an integer."),
])  # fmt: skip
def test_so_is_one_that_is_missing_and_what_responses_are_asked_with(read: Any, body: Any, told: str) -> None:
    with pytest.raises(ApiError) as error:
        read(body)
    assert error.value.message == told


async def test_so_is_a_body_that_is_no_json_object(api: Api) -> None:
    hello = json.dumps({"messages": HELLO})
    for kind, body, status, words in (
        ("text/plain", hello, 415, "must be JSON"),
        ("application/json", "{", 400, "is not JSON: Expecting property name enclosed in double quotes, line 1"),
        ("application/json", "[]", 400, "must be a JSON object"),
        ("application/json", b"\xff\xfe\xff", 400, "is not JSON: its bytes are not UTF-8"),
        ("application/json", "[" * 100_000, 400, "is nested too deeply"),
        ("application/json", '{"x": ' + "1" * 5000 + "}", 400, "contains a number with too many digits"),
    ):
        got = await raw(api, "POST", CHAT, content=body, headers={**api.bearer, "Content-Type": kind})
        error = got.json()["error"]
        assert (got.status_code, error["code"], error["type"]) == (status, status, "invalid_request_error")
        assert error["message"].startswith(f"The body {words}")
    got = await api.complete("Hello", metadata={"session": 5})
    assert (got.status, got.error["param"]) == (400, "metadata")


@pytest.mark.parametrize(("happened", "told"), [
    ("There is no x", "There is no x. Install it."), ("Is it?", "Is it? Install it."), ("", "Install it."),
])  # fmt: skip
def test_what_happened_and_what_to_do_are_two_sentences(happened: str, told: str) -> None:
    assert api_error(UsageError(happened, "Install it.")).message == told


LEAK = "ENOENT /home/me/project/.env, Authorization: Bearer opaque-bearer-value"


@pytest.mark.parametrize("error", [
    AgentNotFound(f"There is no program {LEAK}", LEAK), AgentStartFailed(LEAK, LEAK, LEAK), AgentError(LEAK),
    AgentExited(LEAK, LEAK, LEAK), AgentRefused("session/prompt", -32603, LEAK, {"details": LEAK}),
    AuthRequired("session/new", LEAK, LEAK), CopilotError(LEAK),
])  # fmt: skip
def test_a_client_gets_neither_paths_nor_the_words_of_the_agent(error, caplog) -> None:
    told = api_error(error)
    assert "/home/me" not in told.message
    assert "ENOENT" not in told.message
    assert told.message.endswith((SEE_LOG, SIGN_IN))
    (record,) = caplog.records
    assert "/home/me/project/.env" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert "opaque-bearer-value" not in record.getMessage()
