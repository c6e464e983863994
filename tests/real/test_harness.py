"""The recorder of transcripts plays its scenes with the real Copilot CLI, offline against the scripted model."""

import pytest

from .agents import COPILOT
from .played import Played

pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.usefixtures("isolated"),
    pytest.mark.parametrize("scenes", [COPILOT], ids=str, indirect=True),
]

Scenes = dict[str, Played]


def test_text_and_thought_arrive_whole(scenes: Scenes) -> None:
    played = scenes["text"]
    thoughts = "".join(chunk["content"]["text"] for chunk in played.updates("agent_thought_chunk"))
    assert played.text == (
        "The project holds **three lines** of notes.\n\n```python\nprint('ready')\n```\n\n- first\n- second\n"
    )
    assert "I look at the question first." in thoughts
    assert played.answers[-1]["stopReason"] == "end_turn"


def test_copilot_says_the_exit_code_of_a_shell_command(scenes: Scenes) -> None:
    ended = scenes["shell"].updates("tool_call_update")[-1]["rawOutput"]["contents"][0]
    assert (ended["type"], ended["exitCode"]) == ("shell_exit", 3)


def test_copilot_asks_two_questions_at_once(scenes: Scenes) -> None:
    played = scenes["parallel"]
    assert [question["id"] for question in played.questions] == [0, 1]
    assert played.text == "Both at once.Both ran."


def test_copilot_without_an_account_opens_no_session(scenes: Scenes) -> None:
    greeting, refusal = scenes["signed-out"].answers
    assert greeting["protocolVersion"] == 1
    assert refusal == {"code": -32000, "message": "Authentication required"}
