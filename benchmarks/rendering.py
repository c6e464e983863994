"""Long conversations through the kernel: many turns, calls and chunks, a session shown again, and very long messages.

The agent replays recordings, so that what is measured is the kernel: CPU time where nothing else is said.
"""

from __future__ import annotations

import asyncio
import gc
import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.acp.parse import parse_update
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.conversation.model import Entry
from copilot_kernel.output.output_area import OutputArea

from tests.agent import samples
from tests.chat.people import Person
from tests.output.recording import RecordingCell

from .kernels import OURS, PLAIN, kernel
from .report import Report
from .trial import AGENT

TURNS, CALLS_A_TURN, CALLS, CHUNKS, ENTRIES = 150, 80, 5_000, 1_000_000, 10_000
SIZE, GIANT = 5_000_000, 50_000_000
SESSION = "1b5a6b3e-5a0a-4c33-9fd0-8f3b8f1b6d11"

Updates = Iterable[dict[str, Any]]


def run(scale: float = 1.0) -> Report:
    """Bounds in seconds are those of the whole counts, times `scale`."""
    report = Report("rendering", f"recorded turns through the kernel, scale {scale:g}")
    with TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        recordings = Recordings(Path(folder))
        _add_turns(report, recordings, max(20, round(TURNS * scale)))
        _add_floods(report, recordings, scale)
        _add_giants(report, recordings, (SIZE, GIANT) if scale >= 1 else (SIZE,))
    asyncio.run(_longest(message(20_000, 1)))  # imports what it takes
    gc.freeze()  # as the kernel after its first cell
    for name, updates in (("message", message(SIZE, 1)), ("diff", diff(SIZE))):
        report.add(f"a {name} of 5 MB: longest piece of drawing, CPU", asyncio.run(_longest(updates)) * 1000, "ms", 50)
    return report


# -- what the agent sends ---------------------------------------------------------------------------------------------


def line(update: dict[str, Any]) -> bytes:
    """One line, as agents write it."""
    params = {"sessionId": SESSION, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def chunk(text: str) -> dict[str, Any]:
    """A piece of an answer."""
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def message(size: int, chunks: int) -> Updates:
    """Markdown of `size` characters in so many chunks."""
    return map(chunk, samples.cut(samples.passage(size), chunks))


def calls(count: int, turn: int = 0) -> Updates:
    """Calls that begin and end; a sentence after every tenth. `turn` tells their ids apart."""
    for number in range(count):
        id, path = f"{turn}-{number}", f"src/module_{number % 50}.py"
        call = {"title": f"Read {path}", "kind": "read", "rawInput": {"path": path}, "locations": [{"path": path}]}
        if number % 4 == 3:
            call = {"title": "Run a test", "kind": "execute", "rawInput": {"command": f"pytest {path}"}}
        yield {"sessionUpdate": "tool_call", "toolCallId": id, "status": "in_progress", **call}
        lines = "".join(f"line {line} of result {number}\n" for line in range(8))
        result = [{"type": "content", "content": {"type": "text", "text": lines}}]
        yield {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "content": result}
        if number % 10 == 9:
            yield chunk(f"Step {number} is done.\n\n")


def reads(count: int, folder: str) -> Updates:
    """Calls that read files of this folder."""
    for number in range(count):
        path = f"{folder}/module_{number % 50}.py"
        call = {"title": f"Read {path}", "kind": "read", "rawInput": {"path": path}, "status": "in_progress"}
        yield {"sessionUpdate": "tool_call", "toolCallId": str(number), **call, "locations": [{"path": path}]}
        yield {"sessionUpdate": "tool_call_update", "toolCallId": str(number), "status": "completed"}


def entries(count: int) -> Updates:
    """A session with so many entries: prompts, calls and answers."""
    for turn in range(count // 10):
        yield {**chunk(f"Do task {turn}."), "sessionUpdate": "user_message_chunk"}
        yield from calls(8, turn)
        yield chunk(f"Task {turn} is **done**.\n\n")


def diff(size: int) -> Updates:
    """One edit whose two texts have about `size` characters together."""
    old = "".join(f"line_{number:07} = 'value'\n" for number in range(size // 48))
    content = [{"type": "diff", "path": "data.py", "oldText": old, "newText": old.replace("value", "other")}]
    call = {"toolCallId": "diff", "title": "Edit data.py", "kind": "edit", "status": "completed"}
    yield {"sessionUpdate": "tool_call", **call, "content": content}


@dataclass
class Cost:
    """Of one cell, in seconds and MB. `memory` is the most that the kernel had so far."""

    cpu: float
    wall: float
    memory: float


class Recordings:
    """A folder of them, and what it costs to show them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agent = (sys.executable, "-I", "-S", str(AGENT), str(folder), SESSION)
        self.first = self.record("first", message(20, 1))

    def record(self, name: str, updates: Updates) -> str:
        """The prompt that replays it."""
        with (self.folder / name).open("wb") as file:
            file.writelines(map(line, updates))
        return f"replay {name}"

    def costs(self, *prompts: str, command: tuple[str, ...] = OURS) -> Iterator[Cost]:
        """Of each prompt in one kernel, after one that starts the agent."""
        with kernel(command, shlex.join(self.agent)) as (client, _):
            client.run(self.first)
            process = psutil.Process(client.pid)
            for prompt in prompts:
                cpu, began = sum(process.cpu_times()[:2]), time.monotonic()
                for _ in client.until_idle(client.execute(prompt)):
                    pass
                wall = time.monotonic() - began
                lines = Path(f"/proc/{client.pid}/status").read_text().splitlines()
                peak = next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))
                yield Cost(sum(process.cpu_times()[:2]) - cpu, wall, peak)


def _add_turns(report: Report, recordings: Recordings, turns: int) -> None:
    prompts = [recordings.record(f"turn-{number}", calls(CALLS_A_TURN, number)) for number in range(turns)]
    costs, tenth = [cost.cpu for cost in recordings.costs(*prompts)], turns // 10
    report.add(
        f"{turns} turns of {CALLS_A_TURN} calls: last tenth ÷ first", sum(costs[-tenth:]) / sum(costs[:tenth]), "×", 1.2
    )


def _add_floods(report: Report, recordings: Recordings, scale: float) -> None:
    count = round(CALLS * scale)
    (cost,) = recordings.costs(recordings.record("calls", calls(count)))
    report.add(f"one turn of {count:,} calls", cost.cpu, "s", 4 * scale)
    inside, outside = (
        recordings.record(f"reads-{each}", reads(count, folder)) for each, folder in enumerate(("src", "/usr"))
    )
    (cost,), (checked,) = recordings.costs(inside), recordings.costs(outside)
    report.add(f"one turn of {count:,} reads in the project", cost.cpu, "s", 4 * scale)
    report.add("… outside, which are checked, ÷ that", checked.cpu / cost.cpu, "×", 1.5)
    count = round(CHUNKS * scale)
    prompt = recordings.record("chunks", message(5 * count, count))
    (floor,) = recordings.costs(prompt, command=PLAIN)
    (cost,) = recordings.costs(prompt)
    report.add(f"one turn of {count:,} chunks of 5 characters", cost.cpu, "s", 25 * scale)
    report.add("… ÷ minimal kernel", cost.cpu / floor.cpu, "×", 1.5)
    report.add("… memory at most", cost.memory, "MB", 150)
    count = round(ENTRIES * scale)
    recordings.record("resumed", entries(count))
    (cost,) = recordings.costs("%resume resumed")
    report.add(f"%resume of {count:,} entries, wall", cost.wall, "s", 3)


def _add_giants(report: Report, recordings: Recordings, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        (cost,) = recordings.costs(recordings.record("giant", message(size, 1)))
        report.add(f"one chunk of {size // 1_000_000} MB, wall", cost.wall, "s", 5)
        report.add("… memory at most", cost.memory, "MB", 250)
    (cost,) = recordings.costs(recordings.record("diff", diff(SIZE)))
    report.add("one diff of 5 MB, wall", cost.wall, "s", 5)


# -- how long the event loop is blocked --------------------------------------------------------------------------------


class _Cell(RecordingCell):
    """Messages are written as they would be sent."""

    def _send(self, kind: str, data: Any, key: Any, metadata: Any) -> None:
        super()._send(kind, data, key, metadata)
        json.dumps(data)


class _View(Person):
    """Puts entries into an output area."""

    def __init__(self, area: OutputArea) -> None:
        super().__init__()
        self._area = area

    def show(self, entry: Entry) -> None:
        self._area.put(entry)


async def _longest(updates: Updates) -> float:
    """Seconds of CPU between two turns of the event loop."""
    cell, gaps = _Cell(), list[float]()
    area = OutputArea(cell, asyncio.get_running_loop())  # type: ignore[arg-type]
    state = ConversationState()
    state.begin("prompt", _View(area), [TextBlock("Go")])
    ticking = asyncio.create_task(_tick(gaps))
    for update in [parse_update(update) for update in updates]:
        state.update(update)
        await asyncio.sleep(0)
    await area.drawn()
    area.settle()
    await asyncio.sleep(0)
    ticking.cancel()
    assert cell.sent, "nothing was drawn"
    return max(gaps)


async def _tick(gaps: list[float]) -> None:
    before = time.thread_time()
    while True:
        await asyncio.sleep(0)
        now = time.thread_time()
        gaps.append(now - before)
        before = now
