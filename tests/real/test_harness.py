"""Real agents, offline against the scripted model, do what the script says."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .agents import AGENTS, COPILOT, Agent
from .record import perform
from .scenes import NOTES

Json = dict[str, Any]
PINNED = [agent for agent in AGENTS.values() if agent.pinned]
SCENES = ("text", "edit-allowed", "edit-rejected", "shell", "cancel-question", "two-turns")
COPILOT_ONLY = ("parallel", "cancel-shell", "signed-out")

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated"), pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one scene."""

    messages: list[Json]
    notes: str

    @property
    def answers(self) -> list[Json]:
        """What the agent answered to initialize, session/new and each prompt: the result or the error."""
        return [message.get("result") or message["error"] for message in self.messages if "method" not in message]

    def updates(self, kind: str) -> list[Json]:
        sent = (message["params"]["update"] for message in self.messages if message.get("method") == "session/update")
        return [update for update in sent if update["sessionUpdate"] == kind]

    @property
    def text(self) -> str:
        return "".join(chunk["content"]["text"] for chunk in self.updates("agent_message_chunk"))

    @property
    def questions(self) -> list[Json]:
        return [message for message in self.messages if message.get("method") == "session/request_permission"]


@pytest.fixture(scope="module", params=PINNED, ids=str)
def scenes(
    request: pytest.FixtureRequest,
    cache: Path,
    installed: Callable[[Agent], Agent],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Played]:
    """All scenes of an agent."""
    agent = installed(request.param)
    home, names = tmp_path_factory.mktemp(agent.name), SCENES + (COPILOT_ONLY if agent is COPILOT else ())
    done = perform(agent, names, home, cache, home)
    assert done.returncode == 0, done.stderr
    return {name: _result(agent, name, home, number) for number, name in enumerate(names)}


def _result(agent: Agent, scene: str, home: Path, number: int) -> Played:
    records = map(json.loads, (home / f"{agent.name}-{scene}.jsonl").read_text().splitlines())
    messages = [record["message"] for record in records if record["from"] == "agent"]
    return Played(messages, (home / str(number) / "project" / "notes.txt").read_text())


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
