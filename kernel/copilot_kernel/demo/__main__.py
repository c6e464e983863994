"""The demo agent as a process: ACP on stdin and stdout, or with `--port N` on TCP for several clients.

`COPILOT_KERNEL_DEMO` makes it different, for tests: `switches.py` says how.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from contextlib import suppress

import anyio

from ..acp.transport import PipeTransport, Transport
from .agent import serve
from .signin import log_in
from .switches import SWITCHES, Switches, read_switches, trips


def main() -> None:
    """`python -m copilot_kernel.demo`."""
    switches = "\n".join(f"  {name:<17} {words}" for name, words in SWITCHES.items())
    arguments = argparse.ArgumentParser(
        prog="python -m copilot_kernel.demo",
        description="The demo agent.",
        epilog=f"COPILOT_KERNEL_DEMO makes it different, for tests (a,b=2):\n\n{switches}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument("--port", type=int, help="serve on this TCP port of 127.0.0.1 (0: any), not on stdin")
    arguments.add_argument("--login", action="store_true", help="sign in, for all who use the same folder")
    chosen = arguments.parse_args()
    if chosen.login:
        log_in()
        return print("demo agent: you are signed in now.")
    with suppress(KeyboardInterrupt):
        anyio.run(run, chosen.port, read_switches(os.environ.get("COPILOT_KERNEL_DEMO", "")))


async def run(port: int | None, switches: Switches) -> None:
    """Serve until the client, or SIGTERM, says that it is enough."""
    if "stubborn" in switches:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await _stumble(switches)
    async with anyio.create_task_group() as tasks:
        if "stubborn" not in switches:
            tasks.start_soon(_end_on_sigterm, tasks.cancel_scope)
        await (serve(PipeTransport(0, 1), switches) if port is None else _listen(port, switches))
        if "stubborn" in switches:
            await anyio.sleep_forever()
        tasks.cancel_scope.cancel()


async def _stumble(switches: Switches) -> None:
    if "stderr-flood" in switches:
        lines = int(switches["stderr-flood"] or 1_000_000) // 50
        sys.stderr.write("".join(f"demo agent: this is line {n:>10} of many lines\n" for n in range(lines)))
    if "noise" in switches:
        os.write(1, b'demo agent: good morning\n\n{"level": "info"}\n[1, 2]\n42\n')
    if "slow-start" in switches:
        await anyio.sleep(float(switches["slow-start"] or 1))
    if "exit-at-start" in switches or trips(switches, "fails-starts"):
        sys.stderr.write("demo agent: I cannot start, as I was asked not to\n")
        sys.exit(int(switches.get("exit-at-start") or 3))


async def _end_on_sigterm(scope: anyio.CancelScope) -> None:
    """Shells run in process groups of their own and would stay."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def _listen(port: int, switches: Switches) -> None:
    server = socket.create_server(("127.0.0.1", port))
    server.setblocking(False)
    sys.stderr.write(f"demo agent: listening on 127.0.0.1:{server.getsockname()[1]}\n")
    sys.stderr.flush()
    async with anyio.create_task_group() as clients:
        while True:
            await anyio.wait_readable(server)
            clients.start_soon(serve, _accept(server), switches)


def _accept(server: socket.socket) -> Transport:
    client, _ = server.accept()
    descriptor = client.detach()
    return PipeTransport(os.dup(descriptor), descriptor)


if __name__ == "__main__":
    main()
