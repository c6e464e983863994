"""Scenes played with a real agent and what came of each of them: `perform` plays those of the tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import record
from .agents import COPILOT, Agent

Json = dict[str, Any]
SCENES = ("text", "edit-allowed", "edit-rejected", "shell", "cancel-question", "two-turns")
COPILOT_ONLY = ("parallel", "cancel-shell", "signed-out")


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


def perform(agent: Agent, home: Path, cache: Path) -> dict[str, Played]:
    """All scenes of an agent; raises AssertionError with the last words of what played them."""
    names = SCENES + (COPILOT_ONLY if agent is COPILOT else ())
    done = record.perform(agent, names, home, cache, home)
    assert done.returncode == 0, done.stderr
    return {name: _result(agent, name, home, number) for number, name in enumerate(names)}


def _result(agent: Agent, scene: str, home: Path, number: int) -> Played:
    records = map(json.loads, (home / f"{agent.name}-{scene}.jsonl").read_text().splitlines())
    messages = [record["message"] for record in records if record["from"] == "agent"]
    return Played(messages, (home / str(number) / "project" / "notes.txt").read_text())
