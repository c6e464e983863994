"""Actions in and messages out, whatever comes."""

import json
from contextlib import suppress
from typing import Any

import pytest
from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.errors import UsageError
from copilot_kernel.server.chat import commands
from copilot_kernel.server.chat.wire import (
    ApprovalRequest,
    Delta,
    Done,
    Event,
    Failure,
    File,
    Media,
    ResumeSession,
    SandboxResult,
    Send,
    SessionCreated,
    compose,
    read,
)
from hypothesis import given, settings
from hypothesis import strategies as st

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["action", "text", "call_id"]), inner),
)

PICTURE = File("/m", "image/png", "m.png")


def test_actions_of_the_protocol() -> None:
    assert read('{"action": "send", "text": "Hello"}') == Send(action="send", text="Hello")
    found = read('{"type": "resume_session", "session_id": "a"}')
    assert found == ResumeSession(action="resume_session", session_id="a")


@settings(max_examples=50, deadline=None)
@given(JSON.map(json.dumps) | st.text() | st.binary())
def test_any_frame_is_an_action_or_an_error_in_words(frame: str | bytes) -> None:
    with suppress(UsageError):
        read(frame)


@pytest.mark.parametrize(("message", "told"), [
    (SessionCreated("a"), {"type": "session_created", "session_id": "a"}),
    (Delta("Here"), {"type": "delta", "content": "Here"}),
    (Event("plan", {"entries": []}), {"type": "event", "event": "plan", "entries": []}),
    (SandboxResult("o", "e", None, "c"), {"type": "sandbox_result", "stdout": "o", "stderr": "e", "exit_code": None}),
    (Failure("no", "<b>"), {"type": "error", "content": "no"}),
    (Done("end_turn"), {"type": "done", "stop_reason": "end_turn"}),
    (Media((PICTURE,), 1), {"type": "media", "files": [{"url": "/m", "mime": "image/png", "name": "m.png"}]}),
])  # fmt: skip
def test_messages_of_the_protocol(message: Any, told: dict[str, Any]) -> None:
    composed = json.loads(compose(message))
    assert {name: composed[name] for name in told} == told
    assert "html" not in composed


def test_html_is_only_for_who_asked_for_it() -> None:
    request = ApprovalRequest("c", "execute", "{}", "Run", (PermissionOption("a", "Allow", "allow_once"),), 1, "<p>")
    assert json.loads(compose(request, with_html=True))["html"] == "<p>"
    assert "html" not in json.loads(compose(request))


def test_what_no_encoding_takes_is_replaced() -> None:
    told = compose(Event("plan", {"entries": [float("nan"), "\ud800"]}))
    assert json.loads(told.encode("utf-8"))["entries"] == [None, "\ufffd"]


@pytest.mark.parametrize(("text", "command"), [
    (" /status ", ("status", "")), ("/models", ("model", "")), ("/model large", ("model", "large")),
    ("/resume", ("sessions", "")), ("//status", None), ("/etc/hosts has what?", None), ("status", None),
    ("/ status", None),
])  # fmt: skip
def test_which_texts_are_commands(text: str, command: tuple[str, str] | None) -> None:
    found = commands.parse(text)
    assert (found and (found.name, found.rest)) == command


def test_an_unknown_command_is_an_error_unless_the_agent_knows_it() -> None:
    with pytest.raises(UsageError, match="Unknown command /compact"):
        commands.parse("/compact")
    assert commands.parse("/compact now", ("compact",)) is None
    assert commands.to_agent("//status") == "/status"
    assert commands.to_agent("/compact") == "/compact"
