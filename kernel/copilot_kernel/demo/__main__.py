"""The demo agent as a process: ACP on stdin and stdout, or with `--port N` on TCP for several clients.

`COPILOT_KERNEL_DEMO` makes trouble at the start, for tests; several names may be joined by commas:

    slow-start[=SECONDS]  hears nothing at first (1)      exit-at-start[=CODE]  ends at once, with words on stderr (3)
    never-answers         hears, and is silent            stderr-flood[=BYTES]  writes much on stderr first (1000000)
    protocol-2            speaks another version          noise                 writes lines that are no messages first
    signed-out            wants a sign-in first           stubborn              ignores SIGTERM and the end of its input
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

import anyio

from ..acp.transport import PipeTransport, Transport
from .agent import serve

NAMES = frozenset(
    {
        "slow-start",
        "exit-at-start",
        "never-answers",
        "stderr-flood",
        "protocol-2",
        "noise",
        "signed-out",
        "stubborn",
    }
)


def main() -> None:
    """`python -m copilot_kernel.demo`."""
    arguments = argparse.ArgumentParser(prog="python -m copilot_kernel.demo", description="The demo agent.")
    arguments.add_argument("--port", type=int, help="serve on this TCP port of 127.0.0.1 (0: any), not on stdin")
    arguments.add_argument("--login", action="store_true", help="sign in (there is nothing to sign in to)")
    chosen = arguments.parse_args()
    if chosen.login:
        sys.exit(print("demo agent: you are signed in; there was nothing to do."))
    faults = read_faults(os.environ.get("COPILOT_KERNEL_DEMO", ""))
    with suppress(KeyboardInterrupt):
        anyio.run(run, chosen.port, faults)


def read_faults(text: str) -> dict[str, str]:
    """`a,b=2` as `{"a": "", "b": "2"}`. Exits when there is no such fault."""
    faults = {
        name.strip(): value for name, _, value in (part.partition("=") for part in text.split(",")) if name.strip()
    }
    if unknown := faults.keys() - NAMES:
        sys.exit(f"demo agent: COPILOT_KERNEL_DEMO knows {', '.join(sorted(NAMES))}; not {', '.join(sorted(unknown))}")
    return faults


async def run(port: int | None, faults: Mapping[str, str]) -> None:
    """Serve until the client, or SIGTERM, says that it is enough."""
    if "stubborn" in faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await _stumble(faults)
    async with anyio.create_task_group() as tasks:
        if "stubborn" not in faults:
            tasks.start_soon(_end_on_sigterm, tasks.cancel_scope)
        await (serve(PipeTransport(0, 1), faults) if port is None else _listen(port, faults))
        if "stubborn" in faults:
            await anyio.sleep_forever()
        tasks.cancel_scope.cancel()


async def _stumble(faults: Mapping[str, str]) -> None:
    if "stderr-flood" in faults:
        lines = int(faults["stderr-flood"] or 1_000_000) // 50
        sys.stderr.write("".join(f"demo agent: this is line {n:>10} of many lines\n" for n in range(lines)))
    if "noise" in faults:
        os.write(1, b'demo agent: good morning\n\n{"level": "info"}\n[1, 2]\n42\n')
    if "slow-start" in faults:
        await anyio.sleep(float(faults["slow-start"] or 1))
    if "exit-at-start" in faults:
        sys.stderr.write("demo agent: I cannot start, as I was asked not to\n")
        sys.exit(int(faults["exit-at-start"] or 3))


async def _end_on_sigterm(scope: anyio.CancelScope) -> None:
    """Shells run in process groups of their own and would stay."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def _listen(port: int, faults: Mapping[str, str]) -> None:
    server = socket.create_server(("127.0.0.1", port))
    server.setblocking(False)
    sys.stderr.write(f"demo agent: listening on 127.0.0.1:{server.getsockname()[1]}\n")
    sys.stderr.flush()
    async with anyio.create_task_group() as clients:
        while True:
            await anyio.wait_readable(server)
            clients.start_soon(serve, _accept(server), faults)


def _accept(server: socket.socket) -> Transport:
    client, _ = server.accept()
    descriptor = client.detach()
    return PipeTransport(os.dup(descriptor), descriptor)


if __name__ == "__main__":
    main()
