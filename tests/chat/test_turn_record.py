"""The record of a turn, computed from how it ended."""

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from copilot_kernel import chat
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import TurnOutcome
from copilot_kernel.chat.turn_end import TurnEnd
from copilot_kernel.chat.turn_record import MAX_TITLE_CHARS, METADATA_KEY, metadata_of
from copilot_kernel.conversation.changes import FileChange, changes_of
from copilot_kernel.conversation.model import ToolCall, Unasked
from copilot_kernel.rendering.report import Wording
from copilot_kernel.undo.cells import CellChange

from ..rendering.hostile import HOSTILE

EDIT = ToolCall(
    *(0, 1, "one", "Edit a.py"),
    kind="edit",
    status="completed",
    content=(Diff("/project/a.py", "a\n", "b\nc\n"),),
    decision="allowed by you",
)
RUN = ToolCall(
    *(1, 1, "two", "pytest"),
    kind="execute",
    status="completed",
    raw_output={"exitCode": 1},
    unasked=Unasked("not asked"),
)
LOOK = ToolCall(2, 1, "three", "ls", kind="execute", status="completed", unasked=Unasked("rule Bash(ls)", covered=True))
REFUSED = ToolCall(3, 1, "four", kind="delete", status="rejected", decision="denied by you")


def turn(*calls: ToolCall, **more: Any) -> TurnOutcome:
    fields = {"number": 1, "stop_reason": "end_turn", "text": "", "session_id": "s-1", "agent": "A", **more}
    return TurnOutcome(tool_calls=calls, **fields)


def record(ended: TurnOutcome, *, is_batch: bool = False) -> dict[str, Any]:
    """Valid, and as it is saved."""
    metadata = json.loads(json.dumps(metadata_of(ended, changes_of(ended.tool_calls, "/project"), is_batch=is_batch)))
    assert list(metadata) == [METADATA_KEY]
    validator().validate(metadata[METADATA_KEY])
    return dict(metadata[METADATA_KEY])


def validator() -> Any:
    from jsonschema import Draft202012Validator  # takes seconds

    schema = json.loads((files(chat) / "turn_record.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_record_says_who_did_what_and_who_allowed_it() -> None:
    ended = turn(EDIT, RUN, LOOK, REFUSED, model="m", mode="Plan", agent_version="1.2", seconds=3.0)
    assert record(ended) == {
        "schema": 1,
        "agent": "A",
        "agent_version": "1.2",
        "model": "m",
        "mode": "Plan",
        "permission_mode": "default",
        "session_id": "s-1",
        "stop_reason": "end_turn",
        "calls": [
            {"title": "Edit a.py", "kind": "edit", "status": "completed", "decision": "allowed by you"},
            {
                "title": "pytest",
                "kind": "execute",
                "status": "completed",
                "exit_code": 1,
                "unasked": "not asked",
            },
            {"title": "ls", "kind": "execute", "status": "completed", "covered_by": "rule Bash(ls)"},
            {"title": "", "kind": "delete", "status": "rejected", "decision": "denied by you"},
        ],
        "changes": [{"path": "a.py", "what": "changed", "added": 2, "removed": 1}],
    }


def test_the_record_has_the_digest_of_a_changed_file() -> None:
    found = replace(changes_of([EDIT], "/project"), files=(FileChange("a.py", "changed", digest="0123456789abcdef"),))
    changes = metadata_of(turn(EDIT), found, is_batch=True)[METADATA_KEY]["changes"]
    assert changes == [{"path": "a.py", "what": "changed", "added": 0, "removed": 0, "digest": "0123456789abcdef"}]
    assert validator().is_valid(record(turn()) | {"changes": changes})
    assert not validator().is_valid(record(turn()) | {"changes": [changes[0] | {"digest": ""}]})


def test_the_record_tells_by_a_checksum_whether_a_cell_is_as_the_agent_left_it() -> None:
    cells = (CellChange("a", None, "123456789"), CellChange("b", "", "é😀\ud83d"), CellChange("c", "x", None))
    kept = metadata_of(turn(), changes_of(()), is_batch=True, cells=cells)[METADATA_KEY]
    assert kept["cells"] == [
        {"id": "a", "what": "new", "crc32": 0xCBF43926},
        {"id": "b", "what": "changed", "crc32": 0x8D78E7DF},
    ]
    assert validator().is_valid(kept)
    left = TurnEnd(turn(), changes_of(()), edits=cells).without((), ("cell 1",))
    assert "cells" not in left.shown(Wording(), is_batch=True)[0][1][METADATA_KEY]


def test_the_record_names_the_server_of_a_tool() -> None:
    call = ToolCall(0, 1, "t", "{}", meta={"toolName": "mcp__lab__echo"}, status="completed")
    assert record(turn(call))["calls"][0]["title"] == "lab · echo · {}"


def test_two_batch_runs_have_the_same_record() -> None:
    first, second = (
        record(turn(EDIT, session_id=id, seconds=at), is_batch=True) for id, at in (("s-1", 1), ("s-2", 2))
    )
    assert first == second
    assert "session_id" not in first


@pytest.mark.parametrize("text", ["", "x" * 10_000, *HOSTILE])
def test_the_record_is_valid_whatever_the_agent_says(text: str) -> None:
    call = ToolCall(
        *(0, 1, text, text, text, text),
        status="completed",
        content=(Diff(text, None, text),),
        raw_output={"exitCode": text},
        decision=text,
        unasked=Unasked(text),
    )
    found = record(turn(call, agent=text, model=text, mode=text, stop_reason=text, session_id=text))
    assert len(found["calls"][0]["title"]) <= MAX_TITLE_CHARS


@pytest.mark.parametrize("change", [{"schema": 2}, {"time": "now"}, {"calls": [{}]}, {"changes": [{"path": "a"}]}])
def test_the_schema_refuses_what_it_does_not_know(change: dict[str, Any]) -> None:
    assert validator().is_valid(record(turn()))
    assert not validator().is_valid(record(turn()) | change)
