"""Long conversations through the kernel: many turns, calls and chunks, a session shown again, and very long messages.

The agent plays back recordings, so that what is measured is the kernel: CPU time where nothing else is said.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from copilot_kernel.acp.elicitation import Elicitation, ElicitationAnswer
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.acp.parse import parse_update
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.turn import Stop
from copilot_kernel.conversation.model import Entry
from copilot_kernel.frontend.cell import Cell, Clients, Request
from copilot_kernel.frontend.output_area import OutputArea
from copilot_kernel.permissions.question import PermissionAnswer, Question

from . import rendering_page
from .kernels import OURS, PLAIN, Client, kernel
from .recordings import calls, command, diff, entries, message, record, repeated
from .report import Report

TURNS, CALLS_A_TURN, CALLS, CHUNKS, ENTRIES = 150, 80, 5_000, 1_000_000, 10_000
SESSION = "session"
MIN_WRITTEN = 20_000
"""Bytes of messages, of what is drawn piece by piece."""


@dataclass
class Cost:
    """Of one cell, in seconds, MB and bytes on iopub. `memory` is the most that the kernel had so far."""

    cpu: float
    wall: float
    memory: float
    bytes: int


def run(scale: float = 1.0) -> Report:
    """Bounds in seconds are those of the whole counts, times `scale`."""
    report = Report("rendering", f"recorded turns through the kernel, scale {scale:g}")
    with TemporaryDirectory(prefix="copilot-kernel-benchmark-") as name:
        folder = Path(name)
        _add_turns(report, folder, scale)
        _add_floods(report, folder, scale)
        _add_resume(report, folder, scale)
        _add_giants(report, folder, scale)
    _add_pieces(report)
    rendering_page.add(report, scale)
    return report


def _add_turns(report: Report, folder: Path, scale: float) -> None:
    turns = max(20, round(TURNS * scale))
    prompts = [record(folder, f"turn-{number}", calls(CALLS_A_TURN, number)) for number in range(turns)]
    costs = [cost.cpu for cost in _costs(folder, prompts)]
    tenth = turns // 10
    report.add(f"{turns} turns of {CALLS_A_TURN} calls: first tenth, CPU a turn", sum(costs[:tenth]) / tenth, "s")
    report.add("… last tenth ÷ first", sum(costs[-tenth:]) / sum(costs[:tenth]), "×", bound=1.2)


def _add_floods(report: Report, folder: Path, scale: float) -> None:
    count = round(CALLS * scale)
    (cost,) = _costs(folder, [record(folder, "calls", calls(count))])
    report.add(f"one turn of {count:,} calls", cost.cpu, "s", bound=4 * scale)
    report.add("… ÷ `json.loads` of its lines", cost.cpu / _loading(folder / "calls"), "×")
    count = round(CHUNKS * scale)
    prompt = record(folder, "chunks", repeated(count, 5))
    (floor,) = _costs(folder, [prompt], PLAIN)
    (cost,) = _costs(folder, [prompt])
    report.add(f"one turn of {count:,} chunks of 5 characters", cost.cpu, "s", bound=25 * scale)
    report.add("… ÷ minimal kernel", cost.cpu / floor.cpu, "×", bound=1.5)
    report.add("… memory at most", cost.memory, "MB", bound=150)


def _add_resume(report: Report, folder: Path, scale: float) -> None:
    count = round(ENTRIES * scale)
    record(folder, SESSION, entries(count), SESSION)
    (cost,) = _costs(folder, [f"%resume {SESSION}"])
    report.add(f"%resume of {count:,} entries, wall", cost.wall, "s", bound=3)
    report.add("… CPU", cost.cpu, "s")


def _add_giants(report: Report, folder: Path, scale: float) -> None:
    for size in (5_000_000, 50_000_000) if scale >= 1 else (5_000_000,):
        (cost,) = _costs(folder, [record(folder, "giant", message(size, 1))])
        report.add(f"one chunk of {size // 1_000_000} MB, wall", cost.wall, "s", bound=5)
        report.add("… memory at most", cost.memory, "MB", bound=250)
        report.add("… bytes on iopub per byte of text", cost.bytes / size, "×")
    (cost,) = _costs(folder, [record(folder, "diff", diff(5_000_000))])
    report.add("one diff of 5 MB, wall", cost.wall, "s", bound=5)


def _costs(folder: Path, prompts: Iterable[str], kind: tuple[str, ...] = OURS) -> list[Cost]:
    """Of each prompt in one kernel, after one that starts the agent."""
    record(folder, "first", message(20, 1))
    with kernel(kind, command(folder)) as (client, _):
        _cost(client, "first")
        return [_cost(client, prompt) for prompt in prompts]


def _cost(client: Client, prompt: str) -> Cost:
    process = psutil.Process(client.pid)
    cpu, began, size = _cpu(process), time.monotonic(), 0
    for content, length, _ in client.until_idle(client.execute(prompt)):
        size += length
        if content["msg_type"] == "error":
            raise RuntimeError("\n".join(content["content"]["traceback"]))
    return Cost(_cpu(process) - cpu, time.monotonic() - began, _peak(client.pid), size)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _peak(pid: int) -> float:
    """MB; on Linux alone."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


def _loading(recording: Path) -> float:
    lines = recording.read_bytes().splitlines()
    began = time.process_time()
    for line in lines:
        json.loads(line)
    return time.process_time() - began


# -- how long the event loop is blocked --------------------------------------------------------------------------------


class _Wire:
    """Of a kernel without a front end: messages are written as they would be sent."""

    iopub_socket = stdin_socket = None
    widgets_work = widgets_seen = True

    def __init__(self) -> None:
        self.session = self.comm_manager = self
        self.clients = Clients()
        self.written = 0

    def send(self, socket: None, msg_type: str, content: dict[str, Any], *args: object, **more: object) -> None:
        self.written += len(json.dumps(content))

    def _topic(self, topic: str) -> bytes:
        return topic.encode()


class _View:
    """Puts entries into an output area; nothing is asked."""

    def __init__(self, area: OutputArea) -> None:
        self._area = area

    def show(self, entry: Entry) -> None:
        self._area.put(entry)

    def status(self, words: str) -> None: ...

    async def ask(self, question: Question) -> PermissionAnswer:
        raise NotImplementedError

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        raise NotImplementedError


def _add_pieces(report: Report) -> None:
    asyncio.run(_longest(message(20_000, 1)))  # imports what it takes
    gc.freeze()  # as the kernel after its first cell
    for name, updates in (
        ("a message of 5 MB", message(5_000_000, 1)),
        ("2,000 calls", calls(2_000)),
        ("a diff of 5 MB", diff(5_000_000)),
    ):
        report.add(f"{name}: longest piece of drawing, CPU", asyncio.run(_longest(updates)) * 1000, "ms", bound=50)


async def _longest(updates: Iterable[dict[str, Any]]) -> float:
    """Seconds of CPU between two turns of the event loop."""
    wire, state, gaps = _Wire(), ConversationState(), list[float]()
    request = Request(None, {"header": {"session": "session", "msg_id": "request"}})
    area = OutputArea(Cell(wire, request, live=True, cell_id="cell"), asyncio.get_running_loop())
    state.begin([TextBlock("Go")], _View(area), Stop())
    ticking = asyncio.create_task(_tick(gaps))
    for update in [parse_update(update) for update in updates]:
        state.update(update)
        await asyncio.sleep(0)
    await area.drawn()
    area.settle()
    await asyncio.sleep(0)
    ticking.cancel()
    if wire.written < MIN_WRITTEN:
        raise RuntimeError("nothing was drawn")
    return max(gaps)


async def _tick(gaps: list[float]) -> None:
    before = time.thread_time()
    while True:
        await asyncio.sleep(0)
        now = time.thread_time()
        gaps.append(now - before)
        before = now
