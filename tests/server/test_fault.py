"""What is wrong, in our words: who uses the API need not know what checks a request."""

from __future__ import annotations

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
from copilot_kernel.server.errors import LOG, SIGN_IN, ApiError, for_client
from copilot_kernel.server.schema import read_chat, read_responses

SECRET = "what was sent"
HELLO = [{"role": "user", "content": "Hello"}]
ROLES = "'system', 'developer', 'user', 'assistant', 'tool' or 'function'"


@pytest.mark.parametrize(("member", "value", "words"), [
    ("n", "1", "must be a whole number"),
    ("n", 1.5, "must be a whole number"),
    ("n", 0, "must be at least 1"),
    ("temperature", SECRET, "must be a number"),
    ("stream", SECRET, "must be true or false"),
    ("model", 5, "must be a text"),
    ("user", SECRET * 50, "must have at most 512 characters"),
    ("messages", 5, "must be an array"),
    ("messages", [], "is empty"),
    ("metadata", SECRET, "must be an object"),
    ("stop", 5, "must be a text or an array"),
    ("stream_options", SECRET, "must be an object"),
])  # fmt: skip
def test_a_member_that_cannot_be_is_told_in_our_words(member: str, value: Any, words: str) -> None:
    with pytest.raises(ApiError) as error:
        read_chat({"messages": HELLO, member: value})
    assert (error.value.message, error.value.param) == (f"{member}: {words}.", member)


@pytest.mark.parametrize(("message", "told"), [
    ({"role": SECRET, "content": "x"}, f"messages.1.role: must be {ROLES}."),
    ({"content": "x"}, "messages.1.role: is missing."),
    (SECRET, "messages.1: must be an object."),
    ({"role": "user", "content": [SECRET]}, "messages.1.content.0: must be an object."),
])  # fmt: skip
def test_so_is_a_message(message: Any, told: str) -> None:
    with pytest.raises(ApiError) as error:
        read_chat({"messages": [*HELLO, message]})
    assert error.value.message == told


def test_so_is_what_responses_are_asked_with() -> None:
    with pytest.raises(ApiError) as error:
        read_responses({"input": "x", "max_output_tokens": SECRET})
    assert error.value.message == "max_output_tokens: must be a whole number."


@pytest.mark.parametrize(("happened", "told"), [
    ("There is no x", "There is no x. Install it."), ("There is no x.", "There is no x. Install it."),
    ("Is there no x?", "Is there no x? Install it."), ("", "Install it."),
])  # fmt: skip
def test_what_happened_and_what_to_do_are_two_sentences(happened: str, told: str) -> None:
    assert for_client(UsageError(happened, "Install it.")).message == told


LEAK = "ENOENT /home/me/project/.env, Authorization: Bearer opaque-bearer-value"


@pytest.mark.parametrize("error", [
    AgentNotFound(f"There is no program {LEAK}", LEAK), AgentStartFailed(LEAK, LEAK, LEAK), AgentError(LEAK),
    AgentExited(LEAK, LEAK, LEAK), AgentRefused("session/prompt", -32603, LEAK, {"details": LEAK}),
    AuthRequired("session/new", LEAK, LEAK), CopilotError(LEAK),
])  # fmt: skip
def test_a_client_gets_neither_paths_nor_the_words_of_the_agent(error, caplog) -> None:
    told = for_client(error)
    assert "/home/me" not in told.message
    assert "ENOENT" not in told.message
    assert told.message.endswith((LOG, SIGN_IN))
    (record,) = caplog.records
    assert "/home/me/project/.env" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert "opaque-bearer-value" not in record.getMessage()
