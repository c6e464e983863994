"""Entries as the messages that clients know."""

import json

import pytest
from copilot_kernel.acp.messages import Block, EmbeddedResource, ImageBlock, PlanEntry, ResourceLink, TextBlock
from copilot_kernel.conversation.model import Attachment, Entry, GrowingText, Message, Notice, Plan, ToolCall
from copilot_kernel.server.chat import wire
from copilot_kernel.server.chat.feed import CallIds, EntryFeed, messages
from copilot_kernel.server.chat.media import CARD_TYPE, StoredFile
from copilot_kernel.server.chat.wire import event, notice
from msgspec.structs import replace

CARD = {"type": "AdaptiveCard", "body": [{"type": "TextBlock", "text": "Hello"}]}
CARDS = (EmbeddedResource("card", text=json.dumps(CARD), mime_type=CARD_TYPE),)
NO_CARD = EmbeddedResource("card", text="no json", mime_type=CARD_TYPE)
MEDIA = wire.SocketMessage("media", {"files": [{"url": "/m", "mime": "image/png", "name": "m.png"}], "entry": 1})
LOOK = ToolCall(id=1, turn=1, call_id="t", title="Look", kind="read")
RAN = replace(LOOK, kind="execute", status="completed", raw_output={"stdout": "out", "stderr": "err", "exitCode": 3})
ENDED = replace(LOOK, status="completed", decision="allowed by you", content=(TextBlock("found"), *CARDS))
ONE, TWO = Message(1, 1, "agent", GrowingText("One")), Message(3, 1, "agent", GrowingText("two"))
CAREFUL = Notice(1, 1, "warning", "Careful", "of this")


def delta(text: str) -> wire.SocketMessage:
    return wire.SocketMessage("delta", {"content": text})


def update(title: str, arguments: str = "{}", status: str = "pending") -> wire.SocketMessage:
    return event("tool_update", call_id="t", title=title, arguments=arguments, status=status)


def start(id: str, number: int, kind: str = "read") -> wire.SocketMessage:
    more = {"title": "Look", "arguments": "{}", "tool": kind, "kind": kind}
    return event("tool_start", call_id=id, entry=number, **more)


DONE = event("tool_done", call_id="t", result="found", status="completed", decision="allowed by you")
SHOWN_CARDS = wire.SocketMessage("cards", {"cards": [{"contentType": CARD_TYPE, "content": CARD}], "entry": 1})


@pytest.mark.parametrize(("entries", "in_text", "in_html"), [
    ([ONE, replace(ONE, text=ONE.text.append(" more")), Message(2, 1, "thought", GrowingText("Hm")), TWO], [
        delta("One"), delta(" more"),
        event("thought", content="Hm", entry=2), delta("\n\ntwo"),
    ], []),
    ([Message(1, 1, "user", GrowingText("Hi")), Attachment(2, 1, "user", ImageBlock("", "image/png"))],
     [event("prompt", content="Hi", entry=1)], []),
    ([LOOK, replace(LOOK, title="Look here"), replace(LOOK, title="Look here", raw_input={"n": 1})],
     [start("t", 1), update("Look here"), update("Look here", '{"n": 1}')], []),
    ([LOOK, replace(LOOK, status="in_progress"), ENDED, ENDED, replace(ENDED, title="Looked")],
     [start("t", 1), update("Look", status="in_progress"), DONE, SHOWN_CARDS, update("Looked", status="completed")],
     [DONE, SHOWN_CARDS]),
    ([LOOK, replace(LOOK, id=2)], [start("t", 1), start("t~2", 2)], []),
    ([RAN], [
        start("t", 1, "execute"), event("tool_done", call_id="t", result="out\nerr", status="completed"),
        wire.SocketMessage("sandbox_result", {"stdout": "out", "stderr": "err", "exit_code": 3, "call_id": "t"}),
    ], [event("tool_done", call_id="t", result="out\nerr", status="completed")]),
    ([Plan(1, 1, (PlanEntry("A", "high", "completed"),), "All")],
     [event("plan", entry=1, description="All", entries=[{"content": "A", "priority": "high", "status": "completed"}])],
     []),
    ([CAREFUL, CAREFUL, replace(CAREFUL, count=2)],
     [notice("warning", "Careful", "of this", entry=1)] * 2, []),
    ([Attachment(1, 1, "agent", ResourceLink("https://example.org/a", "a"))],
     [event("resource_link", uri="https://example.org/a", name="a", mime="", entry=1)], []),
    ([Attachment(1, 1, "agent", ImageBlock("", "image/png"))], [MEDIA], [MEDIA]),
    ([Attachment(1, 1, "agent", NO_CARD)], [MEDIA], [MEDIA]),
])  # fmt: skip
def test_what_is_told_of_an_entry_that_changes(
    entries: list[Entry], in_text: list[wire.SocketMessage], in_html: list[wire.SocketMessage]
) -> None:
    feed = EntryFeed(CallIds(), saved)
    updates = [update for entry in entries for update in feed.changes(entry)]
    for with_html, wanted in ((False, in_text), (True, in_html)):
        assert [message for update in updates for message in messages(update, with_html)] == wanted


def saved(block: Block) -> StoredFile:
    """The same file for every block."""
    return StoredFile("/m", "image/png", "m.png", b"m")
