"""How many of our modules a reader enters who follows a prompt, an update or a question through the kernel."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from .kernels import kernel
from .latency import click, open_widgets
from .report import Report

COMMAND = (str(Path(__file__).with_name("walked_kernel.py")),)
WALKS = {
    "prompt": "a prompt of an open conversation → bytes to the agent",
    "chunk": "bytes with a chunk of text → its display",
    "question": "bytes with a permission request → click → bytes with the answer",
}


def run(scale: float = 1.0) -> Report:
    """Modules that every round entered; what only some did belongs to the time of day."""
    rounds = max(3, round(5 * scale))
    report = Report("walks", f"modules of ours with a function that was entered in all of {rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        log = Path(folder) / "walks.jsonl"
        with kernel(COMMAND, BENCHMARK_WALKS=str(log)) as (client, _):
            open_widgets(client)
            client.run("demo: say word")
            for number in range(rounds):
                client.run(f"demo: say word {number}\nwait 0.2")  # else what follows may come in the same bytes
            for _ in range(rounds + 1):
                click(client)
        walks = [json.loads(line) for line in log.read_text().splitlines()]
    for name, what in WALKS.items():
        entered = [set(walk["modules"]) for walk in walks if walk["name"] == name][1:]
        assert len(entered) >= rounds
        modules = set.intersection(*entered)
        report.add(what, len(modules), "modules")
        report.lines += [f"    {module}" for module in sorted(modules)]
    return report
