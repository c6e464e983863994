"""What the fault agent has sent and received, as far as its journal has it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.processes import is_alive

ANSWER_LIMIT = 60.0


class Journal:
    """What the last turn of a notebook has led to. Its prompts have `name` in them, and all else goes by session."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._name, self._at = folder / "journal.jsonl", name, 0
        self.agent, self.session = 0, ""
        """The process that got the last prompt, and its session."""
        self.chunks = 0
        self.closed: set[str] = set()
        """Sessions that agents were asked to close."""
        self._requests: dict[tuple[int, int], list[Any]] = {}
        self._answers: dict[tuple[int, int], list[Any]] = {}

    def begin(self) -> None:
        """Forget the turn before."""
        self.read()
        self.chunks, self._requests, self._answers = 0, {}, {}

    def read(self) -> None:
        """Take in the notes that are new and whole."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        for line in data.splitlines():
            self._take(**json.loads(line))

    def _take(self, pid: int, way: str, message: dict[str, Any]) -> None:
        match way, message:
            case ">", {"id": number, "method": _, "params": {"sessionId": self.session}}:
                self._requests[pid, number] = self._answered(pid, number)
            case "<", {"method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}}:
                if self._name in prompt[0]["text"]:
                    self.agent, self.session = pid, session
            case "<", {"method": "session/close", "params": {"sessionId": session}}:
                self.closed.add(session)
            case "<", {"id": number, **answer} if "method" not in message:
                self._answered(pid, number).append(answer.get("result", answer))
            case ">", {"params": {"sessionId": self.session, "update": {"sessionUpdate": "agent_message_chunk"}}}:
                self.chunks += 1

    def _answered(self, pid: int, number: int) -> list[Any]:
        """An answer may be noted before its request."""
        return self._answers.setdefault((pid, number), [])

    def wrong_answers(self) -> list[str]:
        """Requests of agents that were not answered exactly once; an agent that is gone may have got no answer."""
        end = time.monotonic() + ANSWER_LIMIT
        while (wrong := self._wrong()) and time.monotonic() < end:
            time.sleep(0.005)
            self.read()
        return wrong

    def _wrong(self) -> list[str]:
        counts = ((pid, number, len(answers)) for (pid, number), answers in self._requests.items())
        wrong = [each for each in counts if each[2] > 1 or (each[2] == 0 and is_alive(each[0]))]
        return [f"request {number} of agent {pid} has {count} answers" for pid, number, count in wrong]

    def outcomes(self) -> list[str]:
        """What permission requests were answered with."""
        answers = (answer for given in self._requests.values() for answer in given)
        outcomes = (answer.get("outcome", {}) for answer in answers if isinstance(answer, dict))
        return [str(outcome.get("optionId", outcome.get("outcome"))) for outcome in outcomes]
