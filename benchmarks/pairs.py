"""`python -m benchmarks.pairs CHECKOUT CHECKOUT`: latency of two checkouts, measured in turns on one machine.

Each checkout measures by its own code, in its own environment: run `uv sync` in both. What the machine does otherwise
meets both alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from pathlib import Path

from .report import percentile

ROUNDS = 10
"""Rounds of one process, whose first ones are slower."""
MEASURE = """
import json, os, shlex, sys, tempfile
from benchmarks import latency
from tests.agent.command import COMMAND
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    os.environ["COPILOT_KERNEL_DEMO_HOME"] = folder
    os.environ["COPILOT_KERNEL_DEMO_COMMAND"] = shlex.join(COMMAND)
    rounds = int(sys.argv[1])
    chunks, clicks = latency._first_chunks(latency.OURS, rounds), latency._clicks(rounds)
print(json.dumps({"first chunk -> iopub": chunks, "click -> answer": clicks}))
"""


def measured(checkout: Path) -> dict[str, list[float]]:
    """Seconds of a few rounds."""
    python = checkout / ".venv" / "bin" / "python"
    done = subprocess.run([python, "-c", MEASURE, str(ROUNDS)], cwd=checkout, check=True, capture_output=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print medians and p95 of both, in milliseconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=__doc__)
    parser.add_argument("checkouts", nargs=2, type=Path, metavar="CHECKOUT")
    parser.add_argument("--rounds", type=int, default=300, help="of each checkout (default 300)")
    options = parser.parse_args()
    seconds: dict[tuple[str, Path], list[float]] = defaultdict(list)
    for number in range(options.rounds // ROUNDS):
        for checkout in options.checkouts[:: 1 if number % 2 else -1]:
            for what, found in measured(checkout).items():
                seconds[what, checkout] += found
    for (what, checkout), found in sorted(seconds.items()):
        p50, p95 = (percentile(found, share) * 1000 for share in (0.5, 0.95))
        print(f"{what:22} p50 {p50:6.2f} ms   p95 {p95:6.2f} ms   of {len(found)}   {checkout}")


if __name__ == "__main__":
    main()
