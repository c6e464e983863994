"""A transcript: every message of both directions in order, made fit to be kept.

What a machine or a day puts into a message (paths, ids, times) is replaced by neutral
words, the same one wherever the same value stood, so that a replay still fits together.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]
LONG_LISTS = ("availableCommands", "availableModels", "options")
LONGEST_LIST, KEPT = 8, 3


class Recorder:
    """Who said what, in order."""

    def __init__(self) -> None:
        self.records: list[tuple[str, Json]] = []

    def add(self, speaker: str, message: Json) -> None:
        self.records.append((speaker, message))

    def sent_by(self, speaker: str) -> list[Json]:
        return [message for who, message in self.records if who == speaker]

    def save(self, path: Path, places: Mapping[str, str]) -> None:
        """Write JSON lines; `places` says which real path becomes which neutral one."""
        lines = [json.dumps({"from": who, "message": _shortened(message)}) for who, message in self.records]
        path.write_text(neutral("\n".join(lines) + "\n", places))


_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TOKEN = re.compile(r"\b(ses|msg|prt|call|per|toolu)_[0-9a-zA-Z]{16,}\b")
_TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_MILLISECONDS = re.compile(r"\b1[789]\d{11}\b")
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost):\d+")


def neutral(text: str, places: Mapping[str, str]) -> str:
    """The same text without traces of the machine and the day it was recorded on."""
    for real in sorted(places, key=len, reverse=True):
        text = text.replace(real, places[real]).replace(real.removeprefix("/"), places[real].removeprefix("/"))
    text = _numbered(_UUID, text, lambda number, _: f"00000000-0000-4000-8000-{number:012d}")
    text = _numbered(_TOKEN, text, lambda number, found: f"{found[1]}_{number:04d}")
    text = _TIME.sub("2026-01-01T00:00:00.000Z", text)
    text = _MILLISECONDS.sub("1767225600000", text)
    return _LOOPBACK.sub(r"\1:8080", text)


def _numbered(pattern: re.Pattern[str], text: str, name: Any) -> str:
    names: dict[str, str] = {}
    return pattern.sub(lambda found: names.setdefault(found[0], name(len(names) + 1, found)), text)


def _shortened(value: Any) -> Any:
    """Long lists of commands, models and options keep their shape, their first members and the chosen one."""
    if isinstance(value, dict):
        chosen = {value.get("currentValue"), value.get("currentModelId")}
        return {key: _shortened(_few(key, member, chosen)) for key, member in value.items()}
    return [_shortened(member) for member in value] if isinstance(value, list) else value


def _few(key: str, value: Any, chosen: set[Any]) -> Any:
    if key not in LONG_LISTS or len(value) <= LONGEST_LIST:
        return value
    chosen_ones = [member for member in value[KEPT:] if {member.get("value"), member.get("modelId")} & chosen - {None}]
    return value[:KEPT] + chosen_ones
