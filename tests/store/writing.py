"""Event logs for tests."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from copilot_kernel.conversation.model import Entry, ToolCall
from copilot_kernel.rendering.entry import render
from copilot_kernel.store.turns import PastTurn
from msgspec.structs import replace

Event = tuple[str, Mapping[str, Any]]


def line(number: int, event: Event, **more: Any) -> bytes:
    """One event as Copilot writes it; its id is `e` and its number."""
    kind, data = event
    return json.dumps({"type": kind, "data": data, "id": f"e{number}", **more}).encode() + b"\n"


def write(path: Path, events: Iterable[Event | bytes]) -> Path:
    """A log of these events; bytes are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, event in enumerate(events):
            file.write(event if isinstance(event, bytes) else line(number, event))
    return path


def asked(text: str, **more: Any) -> Event:
    return "user.message", {"content": text, **more}


def answered(text: str, name: str = "", **more: Any) -> Event:
    return "assistant.message", {"messageId": name or f"m {text}", "content": text, **more}


def shown(past: PastTurn) -> list[str]:
    """What a reader of the turn sees, without the prompt."""
    return [_whole(entry) for entry in past.conversation.entries[1:]]


def _whole(entry: Entry) -> str:
    """As plain text; of a call also what is folded in the HTML, which a call that failed shows."""
    head = render(entry)["text/plain"]
    if not isinstance(entry, ToolCall):
        return head
    whole = render(replace(entry, status="failed"))["text/plain"]
    return "\n".join((head.partition("\n")[0], *whole.split("\n")[1:]))
