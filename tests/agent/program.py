"""The test agent as a process. `COPILOT_KERNEL_DEMO` holds its switches (`faults.py`)."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from contextlib import suppress

import anyio
from copilot_kernel.acp.transport import PipeTransport, Transport
from copilot_kernel.demo.__main__ import end_on_sigterm

from .agent import serve
from .faults import Switches, read_switches, trips
from .signin import log_in


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python tests/agent", description="The demo agent, for tests.")
    arguments.add_argument("--port", type=int, help="serve on this TCP port of 127.0.0.1, not on stdin")
    arguments.add_argument("--login", action="store_true", help="sign in, for all who use the same folder")
    chosen = arguments.parse_args()
    if chosen.login:
        log_in()
        return print("demo agent: you are signed in now.")
    with suppress(KeyboardInterrupt):
        anyio.run(_run, chosen.port, read_switches(os.environ.get("COPILOT_KERNEL_DEMO", "")))


async def _run(port: int | None, switches: Switches) -> None:
    if "exit-at-start" in switches or trips(switches, "fails-starts"):
        sys.stderr.write("demo agent: I cannot start, as I was asked not to\n")
        sys.exit(3)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_on_sigterm, tasks.cancel_scope)
        await (serve(PipeTransport(0, 1), switches) if port is None else _listen(port, switches))
        tasks.cancel_scope.cancel()


async def _listen(port: int, switches: Switches) -> None:
    server = socket.create_server(("127.0.0.1", port))
    server.setblocking(False)
    async with anyio.create_task_group() as clients:
        while True:
            await anyio.wait_readable(server)
            clients.start_soon(serve, _accept(server), switches)


def _accept(server: socket.socket) -> Transport:
    client, _ = server.accept()
    descriptor = client.detach()
    return PipeTransport(os.dup(descriptor), descriptor)
