"""What the kernel adds between the agent and the screen, and between a click and the agent."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.agent.command import COMMAND

from .kernels import OURS, PLAIN, TAP, Client, kernel
from .report import Report, percentile


def run(scale: float = 1.0) -> Report:
    """First chunk → iopub, beside the minimal kernel; click → answer on the wire while the cell runs."""
    rounds = max(10, round(100 * scale))
    report = Report("latency", f"{rounds} turns and {rounds} clicks, against the demo agent behind a tap")
    for name, command, bound in (("minimal kernel", PLAIN, None), ("ours", OURS, 10.0)):
        tell(report, f"{name}: first chunk → iopub", first_chunks(command, rounds), bound)
    tell(report, "ours: click → answer on the wire", clicks(rounds), 10.0)
    return report


def tell(report: Report, name: str, seconds: list[float], bound: float | None) -> None:
    """Median, and the value that 95 of 100 keep."""
    report.add(f"{name}, p50", percentile(seconds, 0.5) * 1000, "ms")
    report.add(f"{name}, p95", percentile(seconds, 0.95) * 1000, "ms", bound)


def first_chunks(command: tuple[str, ...], rounds: int) -> list[float]:
    """Seconds from the agent's first chunk to the first output of the cell."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        with kernel(command, tapped(log)) as (client, _):
            shown = [first_output(client, f"demo: say word {number}") for number in range(rounds + 1)]
        said = times(log, "agent", lambda line: "agent_message_chunk" in line)
    return [a - b for a, b in zip(shown, said, strict=True)][1:]


def first_output(client: Client, prompt: str) -> float:
    """When the first output of a turn came."""
    request = client.execute(prompt)
    kinds = ("stream", "display_data")
    return next([at for m, _, at in client.until_idle(request) if m["msg_type"] in kinds] for _ in "1")[0]


def clicks(rounds: int) -> list[float]:
    """Seconds from a click's message to the answer that the agent reads, the cell running all the while."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        with kernel(OURS, tapped(log)) as (client, _):
            opening = {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}}
            client.send("comm_open", opening, {"version": "1.0.0"})
            clicked = [click(client, number) for number in range(rounds)]
        answered = times(log, "client", lambda line: '"outcome"' in line)
    return [a - b for a, b in zip(answered, clicked, strict=True)]


def click(client: Client, number: int) -> float:
    """Ask, press the allowing button as soon as it is released, and wait for the end of the turn."""
    request = client.execute("demo: ask")
    at, button = 0.0, ""
    for message, _, _ in client.until_idle(request):
        button = button or allowing(message)
        if at == 0.0 and button and releases(message, button):
            at = time.monotonic()
            data = {"method": "custom", "content": {"event": "click"}}
            client.send("comm_msg", {"comm_id": button, "data": data})
    return at


def allowing(message: dict[str, Any]) -> str:
    """The comm id of an "Allow once" button, when this message opens one."""
    if message["msg_type"] != "comm_open":
        return ""
    state = message["content"]["data"].get("state", {})
    return str(message["content"]["comm_id"]) if state.get("description") == "Allow once" else ""


def releases(message: dict[str, Any], button: str) -> bool:
    """Whether clicks on the button count from now on."""
    content = message["content"]
    if message["msg_type"] != "comm_msg" or content["comm_id"] != button:
        return False
    return content["data"].get("state", {}).get("disabled") is False


def tapped(log: Path) -> str:
    """The demo agent behind a tap, as a command line."""
    return shlex.join([sys.executable, TAP, str(log), *COMMAND])


def times(log: Path, name: str, wanted: Any) -> list[float]:
    """When the lines of one side that are `wanted` passed."""
    notes = map(json.loads, log.read_text().splitlines())
    return [note["at"] for note in notes if note["from"] == name and wanted(note["line"])]
