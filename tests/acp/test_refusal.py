"""Error answers to words, by a table."""

import pytest
from copilot_kernel.acp.jsonrpc import RpcError
from copilot_kernel.acp.refusal import refusal
from copilot_kernel.errors import AgentRefused, AuthRequired, ConnectionLost, ResourceNotFound, SessionExpired

REFUSALS = [
    (RpcError(-32601, "Method not found"), "Method not found (-32601)"),
    (RpcError(-32601, '"Method not found": session/fork'), '"Method not found": session/fork (-32601)'),
    (RpcError(-32603, "Internal error", {"details": "disk full"}), "Internal error: disk full (-32603)"),
    (RpcError(-32603, "Internal error", {"message": " disk full\n"}), "Internal error: disk full (-32603)"),
    (RpcError(-32603, "Internal error", {"details": {"a": 1}}), "Internal error (-32603)"),
    (RpcError(400, "", "too long"), "too long (400)"),
    (RpcError(1, "same", "same"), "same (1)"),
    (RpcError(1, "", [1, 2]), "no reason given (1)"),
    (RpcError(None, "broken"), "broken"),
    (RpcError(None, ""), "no reason given"),
]


@pytest.mark.parametrize(("error", "words"), REFUSALS)
def test_an_error_answer_says_what_the_agent_said(error, words):
    refused = refusal("m", error)
    assert (refused.method, refused.code, refused.data) == ("m", error.code, error.data)
    assert str(refused) == f"The agent refused m: {words}"


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603, -32002, -32800, -32022])
def test_every_code_of_the_specification_but_the_sign_in_has_a_hint(code):
    assert refusal("m", RpcError(code, "no")).hint


def test_a_timeout_of_a_dialect_has_one_too():
    assert refusal("m", RpcError(-32001, "no")).hint


MEANINGS = [
    (-32000, "Connection closed", None, ConnectionLost),
    (-32000, "The socket was closed by the server", None, ConnectionLost),
    (-32000, "Lost connection", None, ConnectionLost),
    (-32000, "Server error", "write: broken pipe", ConnectionLost),
    (-32000, "Unauthorized", None, AuthRequired),
    (-32000, "Sign in first", "the connection was closed", AuthRequired),
    (-32000, "Please run /login", None, AuthRequired),
    (-32002, "Resource not found", None, ResourceNotFound),
    (-32002, "", None, ResourceNotFound),
    (-32002, "Permission denied", None, AgentRefused),
    (-32002, "Access forbidden", None, AgentRefused),
    (-32003, "Session expired", None, SessionExpired),
    (-32003, "", None, SessionExpired),
    (-32003, "Quota exceeded", None, AgentRefused),
    (-32003, "Token expired", None, AgentRefused),
]


@pytest.mark.parametrize(("code", "message", "data", "kind"), MEANINGS)
def test_a_code_that_dialects_use_otherwise_means_what_its_message_says(code, message, data, kind):
    refused = refusal("session/prompt", RpcError(code, message, data))
    assert (type(refused), refused.code, refused.data) == (kind, code, data)
    assert refused.hint or kind in (AuthRequired, AgentRefused)


def test_a_denial_is_not_explained_as_a_lost_session():
    assert "session" not in refusal("session/prompt", RpcError(-32002, "Permission denied")).hint


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RpcError(-32000, "Authentication required"), "Authentication required"),
        (
            RpcError(-32000, "Authentication required", {"details": "token expired"}),
            "Authentication required: token expired",
        ),
        (RpcError(-32000, ""), "Authentication required"),
    ],
)
def test_a_sign_in_that_is_missing_is_an_error_of_its_own(error, words):
    wanted = refusal("session/new", error)
    assert (type(wanted), wanted.method, str(wanted)) == (AuthRequired, "session/new", words)


@pytest.mark.parametrize("code", [None, 0, 400, -32004])
def test_other_codes_have_none(code):
    assert refusal("m", RpcError(code, "no")).hint == ""
