"""The chat over the WebSocket drives a real agent, offline."""

from typing import Any

import pytest

Json = dict[str, Any]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


def events(frames: list[Json], name: str) -> list[Json]:
    return [frame for frame in frames if frame.get("event") == name]


def answer(frames: list[Json]) -> str:
    return "".join(frame["content"] for frame in frames if frame["type"] == "delta")


def test_a_session_begins(socket_frames: Json) -> None:
    assert socket_frames["begun"][-1]["session_id"]


def test_an_answer_comes_as_deltas_and_ends(socket_frames: Json) -> None:
    frames = socket_frames["answer"]
    assert answer(frames) == "An answer that comes in several pieces."
    assert frames[-1]["stop_reason"] == "end_turn"


def test_a_tool_runs_when_it_was_approved(socket_frames: Json) -> None:
    frames = socket_frames["tool"]
    (asked,), (resolved,) = events(frames, "tool_approval_request"), events(frames, "approval_resolved")
    (started,), (ended,) = events(frames, "tool_start"), events(frames, "tool_done")
    assert "touch" in asked["arguments"]
    assert resolved["approved"] is True
    assert {each["call_id"] for each in (asked, resolved, started, ended)} == {asked["call_id"]}
    assert (ended["status"], "counted" in ended["result"], socket_frames["made"]) == ("completed", True, True)
    assert answer(frames).endswith("It ran.")
    assert frames[-1]["type"] == "done"
