"""`python -m benchmarks NAME … `: run one or more benchmarks and print what they measured."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Callable

from tests.agent.command import COMMAND

from . import (
    chaos,
    latency,
    notebook,
    permissions,
    rendering,
    sandbox,
    serving,
    shape,
    startup,
    streaming,
    undo,
    walks,
)
from .report import Report

BENCHMARKS: dict[str, Callable[..., Report]] = {
    "startup": startup.run,
    "streaming": streaming.run,
    "latency": latency.run,
    "rendering": rendering.run,
    "permissions": permissions.run,
    "notebook": notebook.run,
    "server": serving.run,
    "undo": undo.run,
    "sandbox": sandbox.run,
    "walks": walks.run,
    "shape": shape.run,
    "chaos": chaos.run,
}


def main() -> int:
    """Exit code 1 when a figure misses its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="+", choices=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual number of rounds (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of chaos (default 1)")
    parser.add_argument("--only", default="", choices=chaos.SCENARIOS, help="one scenario of chaos")
    options = parser.parse_args()
    more = {"chaos": {"seed": options.seed, "only": options.only}}
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-", ignore_cleanup_errors=True) as folder:
        os.environ["COPILOT_KERNEL_DEMO_HOME"] = folder  # nothing that the demo agent remembers makes it slower
        os.environ["COPILOT_KERNEL_DEMO_COMMAND"] = shlex.join(COMMAND)
        reports = [BENCHMARKS[name](options.scale, **more.get(name, {})) for name in options.names]
    for report in reports:
        print(report, flush=True)
    return 0 if all(report.holds for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
