"""A long answer: is it all there, what does it cost on iopub, how old is what is shown, how soon does ■ end it?"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import psutil

from tests.agent import samples

from .kernels import OURS, PLAIN, Received, kernel, tapped, times
from .report import Report, percentile

CHUNK_BYTES = 100
# Chunks per second, how many, and bounds: at most so many bytes on iopub per byte of text, at most this age in ms, at
# least so many redraws per second. A slow answer may be drawn more often.
RUNS = ((200, 1_000, None, 300, 6), (1_000, 10_000, 6, None, None), (2_000, 10_000, 6, 300, None))
STORM = 200_000
STORM_SECONDS = 1.0
FLOODS = 20
FLOOD_SECONDS = 3.0
FAULT_AGENT = (sys.executable, "-I", "-S", str(Path(__file__).with_name("fault_agent.py")))


@dataclass
class Stream:
    """What one kernel sent for one answer, and the CPU time that this took, in seconds."""

    text: str
    bytes: int
    outputs: int
    redraws: float
    """Per second."""
    age: float
    """Seconds from the agent's line with a chunk until the cell shows it (p95)."""
    behind: float
    """Seconds from the agent's last line to the kernel's idle."""
    cpu: float


def run(scale: float = 1.0) -> Report:
    """Answers at several rates, and one as fast as the agent can send it, which is stopped."""
    report = Report("streaming", f"chunks of {CHUNK_BYTES} bytes")
    for rate, count, most_bytes, most_age, least_redraws in RUNS:
        chunks = max(500, round(count * scale))
        name, size = f"{chunks:,} at {rate:,}/s", chunks * CHUNK_BYTES
        plain, ours = (_streamed(command, chunks, rate) for command in (PLAIN, OURS))
        for of, each in ((f"{name}, minimal kernel:", plain), (f"{name}, ours:", ours)):
            is_ours = each is ours
            report.add(f"{of} bytes on iopub per byte of text", each.bytes / size, "×", most_bytes if is_ours else None)
            report.add(f"{of} redraws per second", each.redraws, "", least=least_redraws if is_ours else None)
            report.add(f"{of} age of what is shown, p95", each.age * 1000, "ms", most_age if is_ours else None)
            report.add(f"{of} idle after the agent's last byte", each.behind, "s", 0.5 if is_ours else None)
            report.add(f"{of} CPU time", each.cpu, "s")
        report.add(f"{name}: characters lost or changed", _differences(plain.text, ours.text), "", 0)
        report.add(f"{name}, ours: outputs in the cell", ours.outputs, "", 49)
    report.add(f"■ in a storm of {STORM:,} chunks → end of the turn", _stopped(), "s", 1)
    _add_floods(report)
    return report


def _add_floods(report: Report) -> None:
    """Terminals of the client that write all the time, many and one."""
    (cpu, wait), (cpu_of_one, wait_of_one) = map(_flooded, (FLOODS, 1))
    name = f"{FLOODS} terminals of 1 MB/s each:"
    report.add(f"{name} CPU time", cpu, "s")
    report.add(f"{name} CPU time ÷ one", cpu / cpu_of_one, "×", FLOODS)
    report.add(f"{name} idle after the agent's answer", wait, "s")
    report.add(f"{name} idle after the agent's answer ÷ one", wait / wait_of_one, "×", FLOODS)


def _flooded(amount: int) -> tuple[float, float]:
    """CPU time of a turn with so many terminals, and the seconds from the agent's answer to the kernel's idle."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log, sessions = Path(folder) / "tap.jsonl", Path(folder) / "agent"
        sessions.mkdir()
        agent = tapped(log, (*FAULT_AGENT, str(sessions)))
        with kernel(OURS, agent, COPILOT_KERNEL_TERMINAL="on", COPILOT_KERNEL_PERMISSION_MODE="bypassPermissions") as (
            client,
            _,
        ):
            process = psutil.Process(client.pid)
            client.run("say ready")
            spent = sum(process.cpu_times()[:2])
            received = client.run(f"flood {amount} {FLOOD_SECONDS}")
            spent = sum(process.cpu_times()[:2]) - spent
        return spent, received[-1][2] - times(log, "agent", '"stopReason"')[-1]


def _differences(one: str, other: str) -> int:
    """Places at which two texts differ, and what one of them is longer; where a block ends, white space may differ."""
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


def _streamed(command: tuple[str, ...], chunks: int, rate: int) -> Stream:
    """One answer through one kernel: outputs as a front end keeps them, by display id."""
    size, outputs = chunks * CHUNK_BYTES, dict[Any, str]()
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        with kernel(command, tapped(log)) as (client, _):
            process = psutil.Process(client.pid)
            client.run("demo: say ready")
            spent = sum(process.cpu_times()[:2])
            received = client.run(f"demo: long {size} {chunks} {rate}")
            spent = sum(process.cpu_times()[:2]) - spent
        said, last = times(log, "agent", "agent_message_chunk")[-chunks:], times(log, "agent", "")[-1]
    draws = list(_draws(received, outputs))
    age = percentile(list(_ages(said, draws, samples.cut(samples.passage(size), chunks))), 0.95)
    redraws, bytes_sent = len(draws) / (said[-1] - said[0]), sum(length for _, length, _ in received)
    return Stream("".join(outputs.values()), bytes_sent, len(outputs), redraws, age, received[-1][2] - last, spent)


def _draws(received: Iterable[Received], outputs: dict[Any, str]) -> Iterator[tuple[float, int]]:
    """When the cell showed more, and how many characters then, without white space; fills `outputs`.

    Streams join, displays replace. A footer is not the agent's text.
    """
    shown = before = 0
    for message, _, at in received:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            key, text = "stream", content["text"]
        elif kind in ("display_data", "update_display_data") and "copilot_kernel" not in content["metadata"]:
            key, text = content["transient"].get("display_id", len(outputs)), content["data"]["text/plain"]
        else:
            continue
        text = _solid(text)
        shown += len(text) - (len(outputs.get(key, "")) if kind != "stream" else 0)
        outputs[key] = outputs.get(key, "") + text if kind == "stream" else text
        if shown > before:
            yield at, shown
        before = shown


def _ages(said: list[float], draws: list[tuple[float, int]], parts: Iterable[str]) -> Iterator[float]:
    """Seconds from each chunk to the first of `draws` that shows it."""
    later = iter(draws)
    at, shown = next(later)
    for began, end in zip(said, accumulate(len(_solid(part)) for part in parts), strict=True):
        while shown < end:
            at, shown = next(later)
        yield at - began


def _solid(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _stopped() -> float:
    """Seconds from ■ to the idle of a turn whose agent sends as fast as it can."""
    first = pressed = at = 0.0
    with kernel(OURS) as (client, _):
        for message, _, at in client.until_idle(client.execute(f"demo: long {5 * STORM} {STORM} 0")):
            if message["msg_type"] == "display_data":
                first = first or at
            if first and not pressed and at > first + STORM_SECONDS:
                pressed = at
                client.session.send(client.control, client.session.msg("interrupt_request", {}))
    assert pressed, "the storm was over before it was stopped"
    return at - pressed
