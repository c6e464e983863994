"""A long answer at speed: is it all there, what does it cost on iopub, and how far behind is the kernel at its end?"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from .kernels import OURS, PLAIN, kernel, tapped
from .report import Report

CHUNKS, CHUNK_BYTES, RATE = 10_000, 100, 1_000


@dataclass
class Stream:
    """What one kernel sent for one answer, and the CPU time that this took, in seconds."""

    text: str
    bytes: int
    messages: int
    outputs: int
    behind: float
    """Seconds from the agent's last line to the kernel's idle."""
    silence: float
    """The longest time between two messages."""
    cpu: float


def run(scale: float = 1.0) -> Report:
    """1 MB in 10,000 chunks at 1,000 a second."""
    chunks = max(500, round(CHUNKS * scale))
    size = chunks * CHUNK_BYTES
    report = Report("streaming", f"{size:,} bytes in {chunks:,} chunks at {RATE:,}/s")
    plain, ours = (_streamed(command, f"demo: long {size} {chunks} {RATE}") for command in (PLAIN, OURS))
    report.add("characters lost or changed", _differences(plain.text, ours.text), "", 0)
    for name, stream, bounds in (("minimal kernel", plain, (None, None, None)), ("ours", ours, (6, 0.5, 49))):
        report.add(f"{name}: bytes on iopub per byte of text", stream.bytes / size, "×", bounds[0])
        report.add(f"{name}: idle after the agent's last byte", stream.behind, "s", bounds[1])
        report.add(f"{name}: outputs in the cell", stream.outputs, "", bounds[2])
        report.add(f"{name}: messages on iopub", stream.messages, "")
        report.add(f"{name}: longest time without a message", stream.silence, "s")
        report.add(f"{name}: CPU time", stream.cpu, "s")
    return report


def _differences(one: str, other: str) -> int:
    """Places at which two texts differ, and what one of them is longer; where a block ends, white space may differ."""
    one, other = (re.sub(r"\s+", "", text) for text in (one, other))
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


def _streamed(command: tuple[str, ...], prompt: str) -> Stream:
    """One answer through one kernel: outputs as a front end keeps them, by display id."""
    outputs: dict[Any, str] = {}
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        with kernel(command, tapped(log)) as (client, _):
            client.run("demo: say ready")
            process = psutil.Process(client.pid)
            spent = sum(process.cpu_times()[:2])
            received = client.run(prompt)
            spent = sum(process.cpu_times()[:2]) - spent
        last = max(note["at"] for note in map(json.loads, log.read_text().splitlines()) if note["from"] == "agent")
    for message, _, _ in received:
        _keep(outputs, message)
    times = [at for _, _, at in received]
    silence = max(after - before for before, after in pairwise(times))
    size = sum(length for _, length, _ in received)
    return Stream("".join(outputs.values()), size, len(received), len(outputs), times[-1] - last, silence, spent)


def _keep(outputs: dict[Any, str], message: dict[str, Any]) -> None:
    """Streams join, displays replace. A footer is not the agent's text."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        outputs["stream"] = outputs.get("stream", "") + content["text"]
    elif kind in ("display_data", "update_display_data") and "copilot_kernel" not in content["metadata"]:
        outputs[content["transient"].get("display_id", len(outputs))] = content["data"]["text/plain"]
