"""The test agent as a process. `COPILOT_KERNEL_DEMO` holds its switches (`faults.py`)."""

import os
import sys
from contextlib import suppress

import anyio
from copilot_kernel.acp.transport import PipeTransport
from copilot_kernel.demo.__main__ import end_on_sigterm

from .agent import serve
from .faults import Switches, read_switches, trips


def main() -> None:
    with suppress(KeyboardInterrupt):
        anyio.run(_run, read_switches(os.environ.get("COPILOT_KERNEL_DEMO", "")))


async def _run(switches: Switches) -> None:
    if "exit-at-start" in switches or trips(switches, "fails-starts"):
        sys.stderr.write("demo agent: I cannot start, as I was asked not to\n")
        sys.exit(3)
    with anyio.CancelScope() as scope:
        end_on_sigterm(scope)
        await serve(PipeTransport(0, 1), switches)
