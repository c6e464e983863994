"""What the recorded agent plays back: long messages, tool calls, large diffs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.agent import samples

AGENT = str(Path(__file__).with_name("recorded_agent.py"))


def command(folder: Path) -> str:
    """The agent that plays back what is in `folder`."""
    return shlex.join([sys.executable, "-P", AGENT, str(folder)])


def record(folder: Path, name: str, updates: Iterable[dict[str, Any]], session: str = "recorded") -> str:
    """Write what `updates` are as lines; the name is returned as the prompt that plays it back."""
    with (folder / name).open("wb") as file:
        for update in updates:
            message = {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": session, "update": update},
            }
            file.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    return name


def message(size: int, chunks: int) -> Iterator[dict[str, Any]]:
    """Markdown of `size` characters in so many chunks."""
    return map(_said, samples.cut(samples.passage(size), chunks))


def repeated(chunks: int, size: int) -> Iterator[dict[str, Any]]:
    """So many chunks of `size` characters each, made quickly: the same text again and again."""
    return map(_said, islice(cycle(samples.cut(samples.passage(size * 10_000), 10_000)), chunks))


def calls(count: int, turn: int = 0) -> Iterator[dict[str, Any]]:
    """Calls that begin and end; a sentence after every tenth. `turn` tells their ids apart."""
    for number in range(count):
        call = {"toolCallId": f"{turn}-{number}"}
        yield {"sessionUpdate": "tool_call", **call, "status": "in_progress", **_described(number)}
        yield {"sessionUpdate": "tool_call_update", **call, "status": "completed", **_result(number)}
        if number % 10 == 9:
            yield _said(f"Step {number} is done.\n\n")


def entries(count: int) -> Iterator[dict[str, Any]]:
    """A session with so many entries: prompts, calls and answers."""
    for turn in range(count // 10):
        yield {"sessionUpdate": "user_message_chunk", "content": _text(f"Do task {turn}.")}
        yield from calls(8, turn)
        yield _said(f"Task {turn} is **done**.\n\n")


def diff(size: int) -> Iterator[dict[str, Any]]:
    """One edit whose two texts have about `size` characters together."""
    old = "".join(f"line_{number:07} = 'value'\n" for number in range(size // 48))
    content = [{"type": "diff", "path": "data.py", "oldText": old, "newText": old.replace("value", "other")}]
    call = {"toolCallId": "diff", "title": "Edit data.py", "kind": "edit", "status": "completed"}
    yield {"sessionUpdate": "tool_call", **call, "content": content}


def _said(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": _text(words)}


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _described(number: int) -> dict[str, Any]:
    path = f"src/module_{number % 50}.py"
    match number % 4:
        case 0 | 1:
            return {"kind": "read", "title": f"Read {path}", "rawInput": {"path": path}, "locations": [{"path": path}]}
        case 2:
            return {"kind": "search", "title": f"Search for word_{number}", "rawInput": {"pattern": f"word_{number}"}}
        case _:
            return {"kind": "execute", "title": "Run a test", "rawInput": {"command": f"pytest tests/test_{number}.py"}}


def _result(number: int) -> dict[str, Any]:
    lines = "".join(f"line {line} of result {number}\n" for line in range(8))
    return {"content": [{"type": "content", "content": _text(lines)}]}
