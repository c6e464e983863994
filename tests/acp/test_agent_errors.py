"""Error answers to words, by a table."""

import pytest
from copilot_kernel.acp.agent_errors import error_from_answer
from copilot_kernel.acp.jsonrpc import RpcError
from copilot_kernel.errors import AgentRefused, AuthRequired, ConnectionLost, ResourceNotFound, SessionExpired

REFUSALS = [
    (RpcError(-32601, '"Method not found": session/fork'), '"Method not found": session/fork'),
    (RpcError(-32000, "Authentication required", {"details": "expired"}), "Authentication required: expired"),
    (RpcError(-32603, "Internal error", {"message": " disk full\n"}), "Internal error: disk full"),
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


def test_every_code_of_the_specification_but_the_sign_in_has_a_hint():
    codes = [-32700, -32600, -32601, -32602, -32603, -32002, -32800, -32022, -32001, None, -32004]
    hints = [error_from_answer("m", RpcError(code, "no")).hint for code in codes]
    assert [bool(hint) for hint in hints] == [True] * 9 + [False] * 2


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
    assert refused.hint or kind in (AuthRequired, AgentRefused)
    assert ("no longer has" in refused.hint) == (kind is ResourceNotFound)
