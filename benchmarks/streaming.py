"""A long answer at speed: is it all there, what does it cost on iopub, and how far behind is the kernel at its end?"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from tests.agent.command import COMMAND

from . import peers
from .kernels import OURS, PLAIN, TAP, Client, kernel
from .report import Report
from .tap import chunk_times


@dataclass
class Stream:
    """What one kernel sent for one answer."""

    text: str
    bytes: int
    messages: int
    behind: float
    """Seconds from the agent's last line to the kernel's idle."""
    duration: float
    """Seconds from the agent's first chunk to the kernel's idle."""
    silence: float
    """The longest time between two messages."""
    outputs: int
    seconds: float
    """CPU time of the kernel."""


def run(scale: float = 1.0) -> Report:
    """1 MB in 10,000 chunks at 1,000 a second."""
    chunks, rate = max(500, round(10_000 * scale)), 1000
    size = chunks * 100
    report = Report("streaming", f"{size:,} bytes in {chunks:,} chunks at {rate:,}/s")
    prompt = f"demo: long {size} {chunks} {rate}"
    ours, plain = (measure(command, prompt) for command in (OURS, PLAIN))
    report.add("characters lost or changed", differences(squeeze(plain.text), squeeze(ours.text)), "", bound=0)
    for name, stream, bounds in (
        ("minimal kernel, stream per chunk", plain, (None, None, None)),
        ("ours", ours, (6, 0.5, 49)),
    ):
        report.add(f"{name}: bytes on iopub per byte of text", stream.bytes / size, "×", bounds[0])
        report.add(f"{name}: messages on iopub", stream.messages, "")
        report.add(f"{name}: idle after the agent's last byte", stream.behind, "s", bounds[1])
        report.add(f"{name}: longest time without a message", stream.silence, "s")
        report.add(f"{name}: outputs in the cell", stream.outputs, "", bounds[2])
        report.add(f"{name}: the agent's first chunk → idle", stream.duration, "s")
        report.add(f"{name}: CPU time", stream.seconds, "s")
    for name, answer in peers.answers(prompt, size).items():
        report.add(f"{name}: characters missing or changed", differences(plain.text, answer.text), "")
        compare(report, name, answer, ours, size)
    return report


def compare(report: Report, name: str, answer: peers.Answer, ours: Stream, size: int) -> None:
    """A peer's costs. Those of one that did not finish are for the characters that arrived."""
    shown = max(1, len(answer.text))
    late = "complete" if shown >= size else "given up"
    report.add(f"{name}: bytes to the page per byte of text", answer.bytes / shown, "×")
    report.add(f"{name}: … ÷ ours", answer.bytes / shown / (ours.bytes / size), "×")
    report.add(f"{name}: messages to the page", answer.messages, "")
    report.add(f"{name}: longest time without a message", answer.silence, "s")
    report.add(f"{name}: {late} after the agent's last chunk", answer.at - answer.chunks[-1], "s")
    report.add(f"{name}: the agent's first chunk → {late}", answer.at - answer.chunks[0], "s")
    report.add(f"{name}: CPU time of the server", answer.seconds, "s")
    report.add(f"{name}: … ÷ ours", answer.seconds / ours.seconds, "×")
    report.add(f"{name}: bytes written to files per byte of text", answer.written / shown, "×")
    report.add(f"{name}: bytes of the saved chat per byte of text", answer.file / shown, "×")


def squeeze(text: str) -> str:
    """Without white space: where a block ends, its last blank line may go."""
    return re.sub(r"\s+", "", text)


def differences(one: str, other: str) -> int:
    """Places at which two texts differ, and what one of them is longer."""
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


def measure(command: tuple[str, ...], prompt: str) -> Stream:
    """One answer through one kernel, with its agent behind a tap."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        agent = shlex.join([sys.executable, TAP, str(log), *COMMAND])
        with kernel(command, agent) as (client, _):
            for _ in client.until_idle(client.execute("demo: say ready")):
                pass
            return collect(client, prompt, log)


def collect(client: Client, prompt: str, log: Path) -> Stream:
    """Outputs as a front end keeps them: a list, where an update replaces what has its display id."""
    outputs: dict[Any, str] = {}
    size = messages = 0
    times = []
    process = psutil.Process(client.pid)
    spent = cpu_seconds(process)
    request = client.execute(prompt)
    for message, length, when in client.until_idle(request):
        messages, size = messages + 1, size + length
        times.append(when)
        keep(outputs, message)
    seconds = cpu_seconds(process) - spent
    last = [json.loads(line)["at"] for line in log.read_text().splitlines() if '"from": "agent"' in line][-1]
    _, first, *_ = chunk_times(log)
    silence = max(after - before for before, after in pairwise(times))
    text = "".join(outputs.values())
    return Stream(text, size, messages, times[-1] - last, times[-1] - first, silence, len(outputs), seconds)


def cpu_seconds(process: psutil.Process) -> float:
    """Of the process itself, without its agent."""
    times = process.cpu_times()
    return float(times.user + times.system)


def keep(outputs: dict[Any, str], message: dict[str, Any]) -> None:
    """Streams join, displays replace. A footer is not the agent's text."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        outputs["stream"] = outputs.get("stream", "") + content["text"]
    elif kind in ("display_data", "update_display_data") and "copilot_kernel" not in content["metadata"]:
        outputs[content["transient"].get("display_id", len(outputs))] = content["data"]["text/plain"]
