"""`python -m copilot_kernel.demo`: the demo agent as a process that speaks ACP on stdin and stdout."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

import anyio

from ..acp.transport import PipeTransport
from ..system.processes import add_signal_handler
from .agent import serve


def main() -> None:
    """Serve until stdin ends, SIGTERM or Ctrl-C."""
    with suppress(KeyboardInterrupt):
        anyio.run(_run)


async def _run() -> None:
    with anyio.CancelScope() as scope:
        end_on_sigterm(scope)
        await serve(PipeTransport(0, 1))


def end_on_sigterm(scope: anyio.CancelScope) -> None:
    """Cancel `scope` at SIGTERM, so that commands are killed too: they run in sessions of their own."""
    add_signal_handler(asyncio.get_running_loop(), signal.SIGTERM, scope.cancel)


if __name__ == "__main__":
    main()
