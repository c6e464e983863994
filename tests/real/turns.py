"""The turns of a transcript: what was asked in each, and what its client did."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.question import Question
from copilot_kernel.rendering.permission_options import label

Json = dict[str, Any]
TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt of a transcript, and everything until its answer."""

    records: list[Json]

    @property
    def updates(self) -> list[Json]:
        return [record["message"]["params"]["update"] for record in self.records if is_method(record, "session/update")]

    @property
    def questions(self) -> dict[int, Json]:
        """The permission requests by id."""
        asked = (record["message"] for record in self.records if is_method(record, "session/request_permission"))
        return {message["id"]: message["params"] for message in asked}

    @property
    def clicks(self) -> Iterator[tuple[str, int]]:
        """The buttons that the client pressed: a name, and how many buttons of that name came before it."""
        return (click for record in self.records if (click := self.click(record)))

    def click(self, record: Json) -> tuple[str, int] | None:
        """The button that the client pressed then; see `clicks`."""
        message, questions = record["message"], self.questions
        chosen = message.get("result", {}).get("outcome", {}).get("optionId") if record["from"] == "client" else None
        return chosen and (_name(questions[message["id"]], chosen), [*questions].index(message["id"]))

    @property
    def cancelled(self) -> bool:
        return any(is_method(record, "session/cancel") for record in self.records)

    @property
    def late(self) -> list[Json]:
        """Updates that came after the prompt's answer."""
        prompt = self.records[0]["message"]["id"]
        spoken = [record["message"] if record["from"] == "agent" else {} for record in self.records]
        answered = [message.get("id") == prompt and "result" in message for message in spoken]
        return Turn(self.records[answered.index(True) :]).updates


def turns(records: list[Json]) -> list[Turn]:
    """The turns of a transcript."""
    starts = [at for at, record in enumerate(records) if is_method(record, "session/prompt")]
    return [Turn(records[a:b]) for a, b in pairwise([*starts, None])]


def is_method(record: Json, method: str) -> bool:
    """Whether it is a request or a notification of that name."""
    return bool(record["message"].get("method") == method)


def last_words(update: Json) -> str:
    """What a reader sees last of it."""
    content = update.get("content")
    if isinstance(content, dict):
        return str(content["text"]).strip()
    return str(content[0]["content"]["text"]).strip() if content else str(update["title"])


def _name(question: Json, chosen: str) -> str:
    options = tuple(PermissionOption(each["optionId"], each["name"], each["kind"]) for each in question["options"])
    asked = Question(ToolCall(0, 0, ""), options)
    return label(asked, next(option for option in options if option.id == chosen))
