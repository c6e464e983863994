"""A log that is far larger than what is kept of it: memory depends on one turn, not on the log."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from copilot_kernel.store import turns as module
from copilot_kernel.store.log import ReadStats
from copilot_kernel.store.turns import turns

from .writing import Event, answered, asked

SIZE = 10 * 2**20
BOUND = 5 * 2**20
BUDGET = 2 * 2**20
OUTPUT = "".join(f"line {number} of the build\n" for number in range(20_000))


def work(number: int) -> Iterator[Event]:
    """One call with half a megabyte of output, and what the program writes for itself."""
    yield "system.message", {"role": "system", "content": "You are " * 3000}
    yield "tool.execution_start", {"toolCallId": f"c{number}", "toolName": "bash", "arguments": {"command": "make"}}
    result = {"content": OUTPUT, "detailedContent": OUTPUT}
    yield "tool.execution_complete", {"toolCallId": f"c{number}", "success": True, "result": result}
    yield answered("word " * 100, f"m{number}")


def many_turns() -> Iterator[Event]:
    for number in count():
        yield asked(f"prompt {number}")
        yield from work(number)


def one_turn() -> Iterator[Event]:
    yield asked("go")
    for number in count():
        yield from work(number)


def fill(path: Path, events: Iterator[Event]) -> Path:
    with path.open("w") as file:
        while file.tell() < SIZE:
            kind, data = next(events)
            file.write(json.dumps({"type": kind, "data": data, "id": "e"}) + "\n")
    return path


@pytest.mark.parametrize(("story", "bound"), [
    (many_turns, BOUND), (one_turn, BOUND + BUDGET),
])  # fmt: skip
def test_reading_takes_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: Callable[[], Iterator[Event]], bound: int
) -> None:
    monkeypatch.setattr(module, "BUDGET_BYTES", BUDGET)
    path, tally = fill(tmp_path / "log", story()), ReadStats()
    tracemalloc.start()
    try:
        entries = sum(len(past.conversation.entries) for past in turns(path, tally))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tally.damaged, entries > 1) == (0, True)
    assert peak < bound < SIZE
