"""Error answers to words, by a table."""

import pytest
from copilot_kernel.acp.agent_errors import ADVICE, HINTS, NOT_REPEATED, RECONNECT, error_from_answer
from copilot_kernel.acp.jsonrpc import RpcError
from copilot_kernel.errors import (
    AgentRefused,
    AuthRequired,
    ConnectionLost,
    FailureReason,
    ResourceNotFound,
    SessionExpired,
)

REFUSALS = [
    (RpcError(-32601, '"Method not found": session/fork'), '"Method not found": session/fork'),
    (RpcError(-32000, "Authentication required", {"details": "expired"}), "Authentication required: expired"),
    (RpcError(-32603, "Internal error", {"message": " disk full\n"}), "disk full"),
    (RpcError(-32603, "Internal error: disk full", {"details": "disk full"}), "disk full"),
    (RpcError(-32603, "Internal error", {"stack": "at 1"}), "Internal error"),
    (
        RpcError(1, "It failed", {"error": {"code": 429, "message": "Slow down", "details": ["x"]}}),
        "It failed: Slow down",
    ),
    (RpcError(1, "It failed: disk full", "disk full"), "It failed: disk full"),
    (
        RpcError(1, 'API Error: 429 {"error":{"message":"Slow down"}} (x)', {"error": "Denied", "message": "Wait"}),
        "Slow down: Wait",
    ),
    (RpcError(1, "Execution error: {no JSON"), "Execution error: {no JSON"),
    (RpcError(1, "x", '{"error":' * 50_000), "x: " + '{"error":' * 50_000),
    (RpcError(400, "", "too long"), "too long"),
    (RpcError(1, "same", "same"), "same"),
    (RpcError(-32000, ""), "Authentication required"),
    (RpcError(None, "broken"), "broken"),
    (RpcError(None, ""), "The agent refused m without a reason"),
]


@pytest.mark.parametrize(("error", "words"), REFUSALS)
def test_an_error_answer_quotes_the_agent(error, words):
    refused = error_from_answer("m", error)
    assert (refused.method, refused.code, refused.data) == ("m", error.code, error.data)
    assert str(refused) == words


def test_every_code_but_the_sign_in_has_a_hint():
    codes = [-32700, -32600, -32601, -32602, -32603, -32002, -32800, -32022, -32001, None, -32004, -32003]
    hints = [error_from_answer("m", RpcError(code, "no")).hint for code in codes]
    assert all(hints)
    assert error_from_answer("m", RpcError(-32000, "no")).hint == ""


ADVISED: list[tuple[RpcError, FailureReason]] = [
    (RpcError(-32603, "Internal error", {"details": "429 You have exceeded your allowance."}), "quota"),
    (RpcError(-32603, "Internal error", {"status": 429, "message": "No"}), "quota"),
    (RpcError(-32603, "Internal error", {"error": {"code": 401, "message": "No"}}), "sign-in"),
    (RpcError(-32603, 'API Error: 402 {"message": "No"}'), "quota"),
    (RpcError(429, "No"), "quota"),
    (RpcError(503, "No"), "network"),
    (RpcError(404, "No network"), "bug"),
    (RpcError(-32603, "fetch failed: connect ECONNREFUSED 127.0.0.1:443"), "network"),
    (RpcError(-32603, "403 API rate limit exceeded"), "quota"),
    (RpcError(-32603, "Invalid API key"), "key"),
    (RpcError(-32603, "400 This model's maximum context length is 8192 tokens"), "context"),
    (RpcError(-32603, "x is undefined (waited 429.5 seconds)"), "bug"),
]


@pytest.mark.parametrize(("error", "reason"), ADVISED)
def test_the_advice_is_about_what_failed(error, reason):
    assert error_from_answer("m", error).hint == ADVICE[reason]


@pytest.mark.parametrize("code", [-32601, -32001])
def test_a_code_of_the_specification_is_clearer_than_words(code):
    assert error_from_answer("m", RpcError(code, "429 Quota exceeded")).hint == HINTS[code]


@pytest.mark.parametrize(
    ("error", "hint"),
    [(RpcError(-32001, "Timeout"), HINTS[-32001]), (RpcError(-32000, "Connection closed"), RECONNECT)],
)
def test_only_a_prompt_is_said_not_to_be_sent_again(error, hint):
    assert error_from_answer("session/prompt", error).hint == f"{hint} {NOT_REPEATED}"
    assert error_from_answer("session/set_config_option", error).hint == hint


MEANINGS = [
    (-32000, "Connection closed", None, ConnectionLost),
    (-32000, "Lost connection", None, ConnectionLost),
    (-32000, "Server error", "write: broken pipe", ConnectionLost),
    (-32000, "Unauthorized", None, AuthRequired),
    (-32000, "Sign in first", "the connection was closed", AuthRequired),
    (-32002, "Resource not found", None, ResourceNotFound),
    (-32002, "Permission denied", None, AgentRefused),
    (-32003, "Session expired", None, SessionExpired),
    (-32003, "Quota exceeded", None, AgentRefused),
]


@pytest.mark.parametrize(("code", "message", "data", "kind"), MEANINGS)
def test_a_code_that_dialects_use_otherwise_means_what_its_message_says(code, message, data, kind):
    refused = error_from_answer("session/prompt", RpcError(code, message, data))
    assert (type(refused), refused.code, refused.data) == (kind, code, data)
    assert bool(refused.hint) == (kind is not AuthRequired)
    assert ("no longer has" in refused.hint) == (kind is ResourceNotFound)
