"""The broker under load: many kernels that all get updates at once, and one of them does not read."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from copilot_kernel.acp.jsonrpc import MAX_LINE_BYTES, Lines
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.process import agent_process
from copilot_kernel.acp.transport import Transport
from copilot_kernel.agentd.client import shared_agent
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.config import Settings

from . import flooding_agent
from .report import Report, percentile

KERNELS, RATE, SECONDS = 50, 2_000, 60.0
MAX_LATE_MS, MAX_LATEST_MS, MAX_HELD_UP = 500.0, 5_000.0, 0.05


@dataclass(frozen=True)
class Arrivals:
    """What came to the kernels that read: `late` in seconds by kernel, and `sent`, how many it should have got.

    `all_sent` counts those of the others as well; `memory` is the broker's peak, in MB.
    """

    late: list[list[float]]
    sent: list[int]
    all_sent: int
    memory: float


class _Reader:
    """Speaks for one kernel, or for several on one pipe, and notes how late each update was."""

    def __init__(self, transport: Transport) -> None:
        self.late: list[float] = []
        self.answers: dict[int, Any] = {}
        self._transport, self._lines, self._changed = transport, Lines(MAX_LINE_BYTES), anyio.Event()
        self._number = 0

    async def send(self, method: str, **params: Any) -> int:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._transport.send(json.dumps(message).encode() + b"\n")
        return self._number

    async def answer(self, number: int) -> Any:
        while number not in self.answers:
            self._changed = anyio.Event()
            await self._changed.wait()
        return self.answers.pop(number)

    async def run(self) -> None:
        while data := await self._transport.receive():
            now = time.monotonic()
            for line, _ in self._lines.feed(data):
                message = json.loads(line) if line else {}
                if message.get("method") == "session/update":
                    self.late.append(now - float(message["params"]["update"]["content"]["text"].split()[0]))
                elif "id" in message:
                    self.answers[message["id"]] = message["result"]
                    self._changed.set()

    async def opened(self) -> str:
        session: str = (await self.answer(await self.send("session/new", cwd="/", mcpServers=[])))["sessionId"]
        return session


async def _through_a_pipe(command: tuple[str, ...], kernels: int) -> list[float]:
    """All sessions on one pipe: the least that it can be."""
    async with agent_process(command, "/") as agent, anyio.create_task_group() as tasks:
        reader = _Reader(agent)
        tasks.start_soon(reader.run)
        await reader.answer(await reader.send("initialize", protocolVersion=1))
        sessions = [await reader.opened() for _ in range(kernels)]
        prompts = [await reader.send("session/prompt", sessionId=id, prompt=[]) for id in sessions]
        for prompt in prompts:
            await reader.answer(prompt)
        tasks.cancel_scope.cancel()
    return reader.late


class _Kernel:
    """A connection of its own to the shared agent, open until `tasks` are cancelled."""

    def __init__(self, reader: _Reader, reading: anyio.CancelScope) -> None:
        self.reader, self.reading = reader, reading

    @classmethod
    async def joined(cls, tasks: TaskGroup, spec: AgentSpec, runtime: Path) -> _Kernel:
        found: _Kernel = await tasks.start(cls._stay, spec, runtime)
        await found.reader.answer(await found.reader.send("initialize", protocolVersion=1))
        return found

    @classmethod
    async def _stay(cls, spec: AgentSpec, runtime: Path, *, task_status: TaskStatus[_Kernel]) -> None:
        async with shared_agent(spec, _no_sandbox, runtime=runtime, idle=1) as transport:
            with anyio.CancelScope() as reading:
                reader = _Reader(transport)
                task_status.started(cls(reader, reading))
                await reader.run()
            await anyio.sleep_forever()  # it does not read, and stays


def _brokers() -> set[Path]:
    """In /proc."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"copilot_kernel.agentd" in (process / "cmdline").read_bytes():
                found.add(process)
    return found


async def _no_sandbox(folder: Path) -> tuple[None, str]:
    return None, ""


async def _through_the_broker(command: tuple[str, ...], kernels: int) -> Arrivals:
    """The first kernel does not read."""
    before = _brokers()
    with tempfile.TemporaryDirectory() as runtime:
        spec = AgentSpec(Settings(cwd="/"), Launch(command, label="agent"), (), frozenset(), dict(os.environ))
        async with anyio.create_task_group() as tasks:
            joined = [await _Kernel.joined(tasks, spec, Path(runtime)) for _ in range(kernels)]
            sessions = [await each.reader.opened() for each in joined]
            joined[0].reading.cancel()
            sends = (
                each.reader.send("session/prompt", sessionId=id, prompt=[])
                for each, id in zip(joined, sessions, strict=True)
            )
            prompts = [await send for send in sends]
            answers = [await each.reader.answer(prompt) for each, prompt in zip(joined[1:], prompts[1:], strict=True)]
            status = (_brokers() - before).pop().joinpath("status").read_text()
            tasks.cancel_scope.cancel()
    memory = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return Arrivals(
        [each.reader.late for each in joined[1:]],
        [answer["_meta"]["sent"] for answer in answers],
        answers[0]["_meta"]["of"],
        int(memory.split()[1]) / 1024,
    )


def measure(report: Report, scale: float) -> None:
    """A minute, or `scale` of it, each way."""
    seconds = SECONDS * scale
    command = (sys.executable, flooding_agent.__file__, str(RATE), str(seconds), str(KERNELS))
    floor = anyio.run(_through_a_pipe, command, KERNELS)
    report.add("the same on one pipe, late, p95", percentile(floor, 0.95) * 1000, "ms")
    judge(report, anyio.run(_through_the_broker, command, KERNELS), seconds)


def judge(report: Report, arrivals: Arrivals, seconds: float) -> None:
    """Every update arrives, in time; the agent is not held up; memory stays small.

    The bounds on time are wide: a busy machine delays the readers, too.
    """
    late = [each for one in arrivals.late for each in one]
    lost = sum(abs(sent - len(one)) for sent, one in zip(arrivals.sent, arrivals.late, strict=True))
    rate = arrivals.all_sent / seconds
    words = f"{len(arrivals.late) + 1} kernels, one of which does not read, {rate:,.0f} updates a second"
    report.add(f"{words}: late, p95", percentile(late, 0.95) * 1000, "ms", bound=MAX_LATE_MS)
    report.add(
        "  … slowest kernel's p95", max(percentile(one, 0.95) for one in arrivals.late) * 1000, "ms", MAX_LATE_MS
    )
    report.add("  … latest", max(late) * 1000, "ms", bound=MAX_LATEST_MS)
    report.add("  … updates of those who read that did not arrive", lost, "", bound=0)
    held_up = 1 - arrivals.all_sent / (RATE * seconds)
    report.add("  … share of the updates that the agent could not send in time", held_up, "", bound=MAX_HELD_UP)
    report.add("  … memory of the broker, peak", arrivals.memory, "MB", bound=200)


def run(scale: float = 1.0) -> Report:
    """The load alone."""
    report = Report("sharing-load", f"{RATE:,} updates a second for {KERNELS} kernels")
    measure(report, scale)
    return report
