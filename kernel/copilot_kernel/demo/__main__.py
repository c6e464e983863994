"""`python -m copilot_kernel.demo`: the demo agent as a process that speaks ACP on stdin and stdout."""

from __future__ import annotations

import signal
from contextlib import suppress

import anyio

from ..acp.transport import PipeTransport
from .agent import serve


def main() -> None:
    """Serve until stdin ends, SIGTERM or Ctrl-C."""
    with suppress(KeyboardInterrupt):
        anyio.run(_run)


async def _run() -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_on_sigterm, tasks.cancel_scope)
        await serve(PipeTransport(0, 1))
        tasks.cancel_scope.cancel()


async def end_on_sigterm(scope: anyio.CancelScope) -> None:
    """Cancel `scope` at SIGTERM, so that commands are killed too: they run in process groups of their own."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return


if __name__ == "__main__":
    main()
