"""What we say is the specification's own form."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from copilot_kernel.acp.compose import compose_answer, compose_block, compose_initialize
from copilot_kernel.acp.messages import (
    Audio,
    Image,
    Option,
    PermissionRequest,
    Resource,
    ResourceLink,
    Text,
    ToolCallUpdate,
    UnknownBlock,
)
from copilot_kernel.acp.parse import parse_block

OPTION = Option("opt-1", "Allow", "allow_once")
COMPLETE = PermissionRequest("s", ToolCallUpdate("t"), (OPTION,))
INCOMPLETE = PermissionRequest(None, ToolCallUpdate(""), (OPTION,), complete=False)

BLOCKS = [
    (Text("a"), {"type": "text", "text": "a"}),
    (Image("aA==", "image/png"), {"type": "image", "data": "aA==", "mimeType": "image/png"}),
    (Image("aA==", "image/png", "u"), {"type": "image", "data": "aA==", "mimeType": "image/png", "uri": "u"}),
    (Audio("aA==", "audio/wav"), {"type": "audio", "data": "aA==", "mimeType": "audio/wav"}),
    (ResourceLink("file:///a"), {"type": "resource_link", "uri": "file:///a", "name": "file:///a"}),
    (
        ResourceLink("file:///a", "a", "A", "it", "text/plain", 0),
        {
            "type": "resource_link",
            "uri": "file:///a",
            "name": "a",
            "title": "A",
            "description": "it",
            "mimeType": "text/plain",
            "size": 0,
        },
    ),
    (Resource("u", "t", None, "m"), {"type": "resource", "resource": {"uri": "u", "text": "t", "mimeType": "m"}}),
    (Resource("u", None, "aA=="), {"type": "resource", "resource": {"uri": "u", "blob": "aA=="}}),
    (Resource("u"), {"type": "resource", "resource": {"uri": "u", "text": ""}}),
]

ANSWERS = [
    (COMPLETE, OPTION, {"outcome": {"outcome": "selected", "optionId": "opt-1"}}),
    (COMPLETE, None, {"outcome": {"outcome": "cancelled"}}),
    (
        INCOMPLETE,
        OPTION,
        {"outcome": {"outcome": "selected", "optionId": "opt-1"}, "selected": {"optionId": "opt-1"}},
    ),
    (INCOMPLETE, None, {"outcome": {"outcome": "cancelled"}, "cancelled": True}),
]


@pytest.mark.parametrize(("block", "raw"), BLOCKS)
def test_a_block_is_sent_as_the_specification_writes_it(block: Any, raw: Any) -> None:
    assert compose_block(block) == raw


@pytest.mark.parametrize(
    "block", [block for block, _ in BLOCKS if block not in (Resource("u"), ResourceLink("file:///a"))]
)
def test_a_block_that_is_sent_reads_as_it_was(block: Any) -> None:
    assert parse_block(compose_block(block)) == block


def test_a_block_that_we_do_not_know_is_sent_as_it_came() -> None:
    assert compose_block(UnknownBlock({"type": "new"})) == {"type": "new"}


@pytest.mark.parametrize(("request_", "option", "raw"), ANSWERS)
def test_an_answer_has_both_forms_only_for_a_request_outside_the_specification(
    request_: PermissionRequest, option: Option | None, raw: Any
) -> None:
    assert compose_answer(request_, option) == raw


def test_the_dialects_own_answers_are_part_of_ours() -> None:
    guide = json.loads((Path(__file__).parent / "data" / "copilot-guide.json").read_text("utf-8"))
    allow = Option("allow_once", "Allow once", "allow_once")
    assert compose_answer(INCOMPLETE, allow).items() >= guide["answer"].items()
    assert compose_answer(INCOMPLETE, None).items() >= guide["cancelled answer"].items()


def test_we_offer_what_we_show_and_nothing_else() -> None:
    assert compose_initialize("1.2.3") == {
        "protocolVersion": 1,
        "clientInfo": {"name": "copilot-kernel", "title": "Copilot Kernel", "version": "1.2.3"},
        "clientCapabilities": {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        },
    }


def test_we_offer_what_is_served() -> None:
    offered = compose_initialize("1", {"fs", "terminal", "elicitation", "auth"})["clientCapabilities"]
    assert offered == {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
        "elicitation": {"form": {}, "url": {}},
        "auth": {"terminal": True},
    }


SENT = [
    ("InitializeRequest", compose_initialize("1.2.3")),
    *(("RequestPermissionResponse", raw) for _, _, raw in ANSWERS),
    *(("ContentBlock", raw) for _, raw in BLOCKS),
]


@pytest.mark.parametrize(("name", "raw"), SENT)
def test_what_we_send_is_valid_by_the_official_schema(name: str, raw: Any) -> None:
    schema = _schema()
    jsonschema.validate(raw, {**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]})


def test_the_official_schema_refuses_what_is_wrong() -> None:
    schema = {**_schema(), "anyOf": [{"$ref": "#/$defs/RequestPermissionResponse"}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"outcome": {"outcome": "selected"}}, schema)


def _schema() -> Any:
    sdk = Path(__file__).parents[1] / "peers" / "node_modules" / "@agentclientprotocol" / "sdk"
    path = sdk / "schema" / "v1" / "schema.json"
    if not path.exists():
        reason = "the official schema is not installed: npm install --prefix tests/peers"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return json.loads(path.read_text("utf-8"))
