"""What the kernel adds between the agent and the screen, and between a click and the agent."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from .kernels import OURS, PLAIN, Client, kernel, tapped, times
from .report import Report, percentile
from .trial import widget_state


def run(scale: float = 1.0) -> Report:
    """First chunk → iopub, beside the minimal kernel; click → answer on the wire while the cell runs."""
    rounds = max(10, round(100 * scale))
    report = Report("latency", f"{rounds} turns and {rounds} clicks, against the demo agent behind a tap")
    measured = {
        "minimal kernel: first chunk → iopub": _first_chunks(PLAIN, rounds),
        "ours: first chunk → iopub": _first_chunks(OURS, rounds),
        "ours: click → answer on the wire": _clicks(rounds),
    }
    for name, seconds in measured.items():
        report.add(f"{name}, p50", percentile(seconds, 0.5) * 1000, "ms")
        report.add(f"{name}, p95", percentile(seconds, 0.95) * 1000, "ms", 10 if name.startswith("ours") else None)
    return report


def _first_chunks(command: tuple[str, ...], rounds: int) -> list[float]:
    """Seconds from the agent's first chunk to the first output of the cell."""
    shown = list[float]()
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        with kernel(command, tapped(log)) as (client, _):
            for number in range(rounds + 1):
                received = client.run(f"demo: say word {number}")
                shown.append(next(at for m, _, at in received if m["msg_type"] in ("stream", "display_data")))
        said = times(log, "agent", "agent_message_chunk")
    return [after - before for after, before in zip(shown, said, strict=True)][1:]


def _clicks(rounds: int) -> list[float]:
    """Seconds from a click's message to the answer that the agent reads, the cell running all the while."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "tap.jsonl"
        with kernel(OURS, tapped(log)) as (client, _):
            open_widgets(client)
            clicked = [click(client) for _ in range(rounds)]
        answered = times(log, "client", '"outcome"')
    return [after - before for after, before in zip(answered, clicked, strict=True)]


def open_widgets(client: Client) -> None:
    """As front ends that draw buttons do."""
    opening = {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}}
    client.send("comm_open", opening, {"version": "1.0.0"})


def click(client: Client) -> float:
    """Press the button that allows as soon as a click on it counts, and wait for the end of the turn."""
    at, button = 0.0, ""
    for message, _, _ in client.until_idle(client.execute("demo: ask")):
        state = widget_state(message)
        if state.get("description") == "Allow once":
            button = message["content"]["comm_id"]
        elif at == 0.0 and button == message["content"].get("comm_id") and state.get("disabled") is False:
            at = time.monotonic()
            data = {"method": "custom", "content": {"event": "click"}}
            client.send("comm_msg", {"comm_id": button, "data": data})
    return at
