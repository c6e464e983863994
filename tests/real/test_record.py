"""The recorder of transcripts plays its scenes with the real Copilot CLI, offline against the scripted model."""

import json

import pytest

from .agents import COPILOT
from .conftest import played
from .turns import Json, Turn

pytestmark = [pytest.mark.real_agent, played("record.play", COPILOT, words=("parallel", "signed-out"))]


def transcript(seen: dict[str, str], scene: str) -> Turn:
    return Turn([json.loads(line) for line in seen[scene].splitlines()])


def said(turn: Turn, kind: str = "agent_message_chunk") -> str:
    return "".join(each["content"]["text"] for each in turn.updates if each["sessionUpdate"] == kind)


def answers(turn: Turn) -> list[Json]:
    """To initialize, session/new and each prompt: the result or the error."""
    spoken = [record["message"] for record in turn.records if record["from"] == "agent"]
    return [message.get("result") or message["error"] for message in spoken if "method" not in message]


def test_copilot_asks_two_questions_at_once(seen: dict[str, str]) -> None:
    turn = transcript(seen, "parallel")
    assert [*turn.questions] == [0, 1]
    assert [position for _, position in turn.clicks] == [1, 0]
    assert said(turn) == "Both at once.Both ran."


def test_copilot_without_an_account_opens_no_session(seen: dict[str, str]) -> None:
    greeting, refusal = answers(transcript(seen, "signed-out"))
    assert greeting["protocolVersion"] == 1
    assert refusal == {"code": -32000, "message": "Authentication required"}
