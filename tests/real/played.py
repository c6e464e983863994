"""Scenes played with a real agent and what came of each of them: `perform` plays those of the tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import record
from .agents import Agent

Json = dict[str, Any]
SCENES = ("text", "shell", "parallel", "signed-out")


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one scene."""

    messages: list[Json]

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
    done = record.perform(agent, SCENES, home, cache, home)
    assert done.returncode == 0, done.stderr
    return {name: _result(agent, name, home) for name in SCENES}


def _result(agent: Agent, scene: str, home: Path) -> Played:
    records = map(json.loads, (home / f"{agent.name}-{scene}.jsonl").read_text().splitlines())
    return Played([record["message"] for record in records if record["from"] == "agent"])
