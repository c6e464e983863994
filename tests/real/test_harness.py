"""Real agents, offline against the scripted model, do what the script says."""

import pytest

from .agents import COPILOT
from .played import Played
from .scenes import NOTES

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated"), pytest.mark.timeout(300)]

Scenes = dict[str, Played]
copilot = pytest.mark.parametrize("scenes", [COPILOT], ids=str, indirect=True)


def test_text_and_thought_arrive_whole(scenes: Scenes) -> None:
    played = scenes["text"]
    thoughts = "".join(chunk["content"]["text"] for chunk in played.updates("agent_thought_chunk"))
    assert played.text == (
        "The project holds **three lines** of notes.\n\n```python\nprint('ready')\n```\n\n- first\n- second\n"
    )
    assert "I look at the question first." in thoughts
    assert played.answers[-1]["stopReason"] == "end_turn"


def test_an_allowed_edit_is_on_the_disk(scenes: Scenes) -> None:
    played = scenes["edit-allowed"]
    assert (played.notes, len(played.questions)) == ("one\nTWO\nthree\n", 1)
    assert played.text.endswith("Changed.")


def test_a_rejected_edit_is_not(scenes: Scenes) -> None:
    played = scenes["edit-rejected"]
    assert (played.notes, len(played.questions)) == (NOTES, 1)


def test_a_shell_command_is_asked_about_and_its_end_is_told(scenes: Scenes) -> None:
    played = scenes["shell"]
    assert len(played.questions) == 1
    assert played.updates("tool_call_update")[-1]["status"] == "completed"
    assert played.text.endswith("It ended with 3.")


def test_a_cancel_ends_the_turn_while_a_question_is_open(scenes: Scenes) -> None:
    played = scenes["cancel-question"]
    assert (len(played.questions), played.answers[-1]["stopReason"]) == (1, "cancelled")


def test_a_second_turn_remembers_the_first(scenes: Scenes) -> None:
    assert scenes["two-turns"].text == "Noted.I remember: the colour is blue, the number is seven"


@copilot
def test_copilot_says_the_exit_code_of_a_shell_command(scenes: Scenes) -> None:
    ended = scenes["shell"].updates("tool_call_update")[-1]["rawOutput"]["contents"][0]
    assert (ended["type"], ended["exitCode"]) == ("shell_exit", 3)


@copilot
def test_copilot_asks_two_questions_at_once(scenes: Scenes) -> None:
    played = scenes["parallel"]
    assert [question["id"] for question in played.questions] == [0, 1]
    assert played.text == "Both at once.Both ran."


@copilot
def test_copilot_leaves_a_cancelled_shell_command_open(scenes: Scenes) -> None:
    played = scenes["cancel-shell"]
    assert [update.get("status") for update in played.updates("tool_call_update")] == [None]
    assert played.answers[-1]["stopReason"] == "cancelled"


@copilot
def test_copilot_without_an_account_opens_no_session(scenes: Scenes) -> None:
    greeting, refusal = scenes["signed-out"].answers
    assert greeting["protocolVersion"] == 1
    assert refusal == {"code": -32000, "message": "Authentication required"}
