"""`python -m benchmarks NAME … [--json]`: run one or more benchmarks and print what they measured."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.agent.command import COMMAND

from . import latency, notebook, permissions, serving, startup, streaming
from .report import Report

BENCHMARKS: dict[str, Callable[[float], Report]] = {
    "startup": startup.run,
    "streaming": streaming.run,
    "latency": latency.run,
    "permissions": permissions.run,
    "notebook": notebook.run,
    "server": serving.run,
}


@contextmanager
def remembering_nothing() -> Iterator[None]:
    """What the demo agent remembers of a benchmark is gone after it, and nothing that it remembers makes it slower."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-", ignore_cleanup_errors=True) as folder:
        os.environ["COPILOT_KERNEL_DEMO_HOME"] = folder
        os.environ["COPILOT_KERNEL_DEMO_COMMAND"] = shlex.join(COMMAND)
        yield


def main() -> int:
    """Exit code 1 when a figure misses its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(BENCHMARKS), metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", action="store_true", help="one JSON object for each benchmark and line")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual number of rounds (default 1)")
    options = parser.parse_args()
    with remembering_nothing():
        reports = [BENCHMARKS[name](options.scale) for name in options.names]
    for report in reports:
        print(json.dumps(report.as_json()) if options.json else report.as_text(), flush=True)
    return 0 if all(report.holds for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
