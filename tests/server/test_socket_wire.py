"""Actions in and messages out, whatever comes."""

import json
from contextlib import suppress
from typing import Any

import pytest
from copilot_kernel.errors import UsageError
from copilot_kernel.server.chat import chat_commands
from copilot_kernel.server.chat.feed import Update
from copilot_kernel.server.chat.html import EntryHtml
from copilot_kernel.server.chat.outbox import Outbox
from copilot_kernel.server.chat.wire import ResumeSession, Send, SocketMessage, compose, done, event, read
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import examples

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["action", "text", "call_id"]), inner),
)


def test_actions_of_the_protocol() -> None:
    assert read('{"action": "send", "text": "Hello"}') == Send(action="send", text="Hello")
    found = read('{"type": "resume_session", "session_id": "a"}')
    assert found == ResumeSession(action="resume_session", session_id="a")


@settings(max_examples=examples(50), deadline=None)
@given(JSON.map(json.dumps) | st.text() | st.binary())
def test_any_frame_is_an_action_or_an_error_in_words(frame: str | bytes) -> None:
    with suppress(UsageError):
        read(frame)


def test_html_is_only_for_who_asked_for_it() -> None:
    message = done("end_turn", "<p>")
    assert json.loads(compose(message, with_html=True))["html"] == "<p>"
    assert "html" not in json.loads(compose(message))


def test_what_no_encoding_takes_is_replaced() -> None:
    composed = compose(event("plan", entries=[float("nan"), "\ud800"]))
    assert json.loads(composed.encode("utf-8"))["entries"] == [None, "\ufffd"]


@pytest.mark.parametrize(("text", "command"), [
    (" /status ", ("status", "")), ("/models", ("model", "")), ("/model large", ("model", "large")),
    ("/resume", ("sessions", "")), ("//status", None), ("/etc/hosts has what?", None), ("status", None),
    ("/ status", None),
])  # fmt: skip
def test_which_texts_are_commands(text: str, command: tuple[str, str] | None) -> None:
    found = chat_commands.parse(text)
    assert (found and (found.name, found.rest)) == command


def test_an_unknown_command_is_an_error_unless_the_agent_knows_it() -> None:
    with pytest.raises(UsageError, match="Unknown command /compact"):
        chat_commands.parse("/compact")
    assert chat_commands.parse("/compact now", ("compact",)) is None
    assert chat_commands.to_agent("//status") == "/status"
    assert chat_commands.to_agent("/compact") == "/compact"


# -- what waits for a slow socket: in order, newest state only, bounded ------------------------------------------------


def delta(text: str) -> SocketMessage:
    return SocketMessage("delta", {"content": text})


async def taken(box: Outbox) -> list[Any]:
    """What identifies each message that waits."""
    found = []
    while box._waiting:
        message = json.loads(str(await box.next()))
        found.append(message.get("html") or message.get("content") or message["type"])
    return found


def filled(*updates: Update, max_chars: int = 10**6) -> Outbox:
    box = Outbox(with_html=True, max_chars=max_chars)
    for update in updates:
        box.put(update)
    return box


async def test_what_waits_keeps_its_order_or_is_replaced_by_what_is_newer() -> None:
    old, other, new = (EntryHtml(1, piece, "message", html) for piece, html in ((0, "old"), (1, "other"), (0, "new")))
    states = (event("status", content=words) for words in ("Looking", "Found"))
    box = filled(delta("a"), old, delta("b"), other, *states, new, done("x"))
    assert await taken(box) == ["a", "new", "b", "other", "Found", "done"]


async def test_too_much_is_given_up_and_it_says_so() -> None:
    box = filled(delta("x" * 500), done("x"), delta("y" * 500), max_chars=1000)
    assert (box.overflowed, box._waiting, await box.next()) == (True, {}, None)


async def test_a_reader_that_keeps_up_never_fills_it() -> None:
    box = filled(max_chars=1000)
    for number in range(100):
        for update in (delta("x" * 100), *(EntryHtml(number % 3, 0, "tool", "y" * 100) for _ in range(9))):
            box.put(update)
        await taken(box)
    assert not box.overflowed
