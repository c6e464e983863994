"""The kernel, which on SIGUSR1 writes what it holds, as JSON, to the file that `BENCHMARK_PROBE` names.

The wall clock is off by the seconds in the file that `BENCHMARK_CLOCK` names, if there is one. A shared agent that it
starts ends `BENCHMARK_IDLE` seconds after its last notebook.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from copilot_kernel.__main__ import main
from copilot_kernel.agentd import client


def probe(*_: Any) -> None:
    """Garbage is collected first."""
    gc.collect()
    held = {"tasks": len(asyncio.all_tasks()), "threads": threading.active_count()}
    file = Path(os.environ["BENCHMARK_PROBE"])
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(held))
    partial.replace(file)


def shift_clock(file: Path) -> None:
    """Let `time.time` and `time.time_ns` follow the offset in the file, which may change at any time."""
    real = time.time_ns

    def time_ns() -> int:
        try:
            return real() + int(file.read_text()) * 1_000_000_000
        except (OSError, ValueError):
            return real()

    time.time_ns, time.time = time_ns, lambda: time_ns() / 1e9


if __name__ == "__main__":
    if clock := os.environ.get("BENCHMARK_CLOCK"):
        shift_clock(Path(clock))
    if idle := os.environ.get("BENCHMARK_IDLE"):
        client.IDLE_SECONDS = float(idle)
    signal.signal(signal.SIGUSR1, probe)
    main()
