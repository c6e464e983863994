"""What we say is the specification's own form."""

from typing import Any

import pytest
from copilot_kernel.acp import dialects
from copilot_kernel.acp.compose import compose_answer, compose_block, compose_initialize
from copilot_kernel.acp.messages import (
    AudioBlock,
    EmbeddedResource,
    ImageBlock,
    PermissionOption,
    ResourceLink,
    TextBlock,
    UnknownBlock,
)
from copilot_kernel.acp.parse import parse_block

from .conftest import Valid

OPTION = PermissionOption("opt-1", "Allow", "allow_once")
COMPLETE: list[Any] = [{"sessionId": "s"}, {"toolCall": {}}]
INCOMPLETE: list[Any] = [{"title": "T"}, None]

BLOCKS = [
    (TextBlock("a"), {"type": "text", "text": "a"}),
    (ImageBlock("aA==", "image/png"), {"type": "image", "data": "aA==", "mimeType": "image/png"}),
    (ImageBlock("aA==", "image/png", "u"), {"type": "image", "data": "aA==", "mimeType": "image/png", "uri": "u"}),
    (AudioBlock("aA==", "audio/wav"), {"type": "audio", "data": "aA==", "mimeType": "audio/wav"}),
    (ResourceLink("file:///a"), {"type": "resource_link", "uri": "file:///a", "name": "file:///a"}),
    (
        ResourceLink("file:///a", "a", "A", "", "text/plain", 0),
        {"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A", "mimeType": "text/plain", "size": 0},
    ),
    (
        EmbeddedResource("u", "t", None, "m"),
        {"type": "resource", "resource": {"uri": "u", "text": "t", "mimeType": "m"}},
    ),
    (EmbeddedResource("u", None, "aA=="), {"type": "resource", "resource": {"uri": "u", "blob": "aA=="}}),
    (EmbeddedResource("u"), {"type": "resource", "resource": {"uri": "u", "text": ""}}),
]

ANSWERS = [
    (COMPLETE, OPTION, {"outcome": {"outcome": "selected", "optionId": "opt-1"}}),
    (COMPLETE, None, {"outcome": {"outcome": "cancelled"}}),
    (COMPLETE, PermissionOption(None, "Deny", "reject_once"), {"outcome": {"outcome": "cancelled"}}),
    (INCOMPLETE, OPTION, {"outcome": {"outcome": "selected", "optionId": "opt-1"}, "selected": {"optionId": "opt-1"}}),
    (INCOMPLETE, None, {"outcome": {"outcome": "cancelled"}, "cancelled": True}),
]


@pytest.mark.parametrize(("block", "raw"), BLOCKS)
def test_a_block_is_sent_as_the_specification_writes_it(block: Any, raw: Any) -> None:
    assert compose_block(block) == raw
    if block not in (EmbeddedResource("u"), ResourceLink("file:///a")):
        assert parse_block(raw) == block
    assert compose_block(UnknownBlock({"type": "new"})) == {"type": "new"}


@pytest.mark.parametrize(("requests", "option", "raw"), ANSWERS)
def test_an_answer_has_both_forms_only_for_a_request_outside_the_specification(
    requests: list[Any], option: PermissionOption | None, raw: Any
) -> None:
    for params in requests:
        assert dialects.permission_answer(compose_answer(option), params, "nested") == raw
        assert dialects.permission_answer(compose_answer(option), params, "flat") == raw["outcome"]


def test_we_offer_what_we_show_and_serve_and_nothing_else() -> None:
    session = {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}}
    assert compose_initialize("1.2.3") == {
        "protocolVersion": 1,
        "clientInfo": {"name": "copilot-kernel", "title": "Copilot Kernel", "version": "1.2.3"},
        "clientCapabilities": {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
            "session": session,
        },
    }
    assert compose_initialize("1", {"fs", "terminal", "elicitation", "auth"})["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "session": session,
        "elicitation": {"form": {}, "url": {}},
        "auth": {"terminal": True},
    }


SENT = [
    ("InitializeRequest", compose_initialize("1.2.3")),
    *(("RequestPermissionResponse", raw) for _, _, raw in ANSWERS),
    *(("ContentBlock", raw) for _, raw in BLOCKS),
]


def test_what_we_send_is_valid_by_the_official_schema(valid: Valid) -> None:
    for name, raw in SENT:
        valid(name, raw)
