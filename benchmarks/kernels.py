"""Kernels as processes, and a client that loses no time: it connects before the kernel listens."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

from tests.agent.command import COMMAND
from tests.trusting import trust_environment

OURS = ("-m", "copilot_kernel")
PLAIN = (str(Path(__file__).with_name("plain_kernel.py")),)
TAP = str(Path(__file__).with_name("tap.py"))
LIMIT = 300.0

Received = tuple[dict[str, Any], int, float]
"""A message, its bytes, and when it came (seconds, monotonic)."""


class Client:
    """Shell, control and iopub of one kernel, read raw so that bytes can be counted and arrival be timed."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.session = Session(key=info["key"].encode() if isinstance(info["key"], str) else info["key"])
        self._zmq = zmq.Context()
        kinds = {"shell": zmq.DEALER, "control": zmq.DEALER, "iopub": zmq.SUB}
        self.shell, self.control, self.iopub = (
            self._connect(kind, info[f"{name}_port"]) for name, kind in kinds.items()
        )
        self.iopub.subscribe(b"")
        self.pid = 0
        """Of the kernel's process."""

    def _connect(self, kind: int, port: int) -> zmq.Socket[bytes]:
        socket = self._zmq.socket(kind)
        socket.linger, socket.reconnect_ivl, socket.rcvhwm = 0, 1, 0
        socket.connect(f"tcp://127.0.0.1:{port}")
        return socket

    def send(self, kind: str, content: dict[str, Any], metadata: dict[str, Any] | None = None) -> str:
        """Send on shell; returns the message id."""
        message = self.session.msg(kind, content, metadata=metadata)
        self.session.send(self.shell, message)
        return str(message["header"]["msg_id"])

    def execute(self, code: str) -> str:
        """As a person's front end would: questions may be asked, the cell has an id."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": True}
        return self.send("execute_request", {**content, "stop_on_error": True}, {"cellId": "benchmark"})

    def receive(self, socket: zmq.Socket[bytes]) -> Received:
        """The next message. Raises TimeoutError."""
        if not socket.poll(int(LIMIT * 1000)):
            raise TimeoutError("the kernel is silent")
        parts, at = socket.recv_multipart(), time.monotonic()
        _, frames = self.session.feed_identities(parts)
        return self.session.deserialize(frames), sum(map(len, parts)), at

    def until_idle(self, request: str) -> Iterator[Received]:
        """All of iopub up to and with the idle of `request`. Raises RuntimeError for an error."""
        while True:
            message, size, at = self.receive(self.iopub)
            yield message, size, at
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
            is_idle = message["content"].get("execution_state") == "idle"
            if is_idle and message["parent_header"].get("msg_id") == request:
                return

    def run(self, code: str) -> list[Received]:
        """All that a cell publishes."""
        return list(self.until_idle(self.execute(code)))


@contextmanager
def kernel(
    command: tuple[str, ...] = OURS, agent: str = "demo", cwd: Path | None = None, **settings: str
) -> Iterator[tuple[Client, float]]:
    """A running kernel and the seconds from spawn to `kernel_info_reply`. It is stopped at the end.

    It runs in the folder `cwd`, by default an empty one. `settings` are variables of its environment.
    """
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        path, info = write_connection_file(str(Path(folder) / "kernel.json"))
        client, null = Client(dict(info)), subprocess.DEVNULL
        client.send("kernel_info_request", {})
        own = {"COPILOT_KERNEL_AGENT": agent, "COPILOT_KERNEL_STATE": str(Path(folder) / "state")}
        environ = {**os.environ, **own, **settings}
        trust_environment(environ)
        argv, cwd, started = [sys.executable, *command, "-f", path], cwd or Path(folder), time.monotonic()
        process = subprocess.Popen(argv, env=environ, cwd=cwd, start_new_session=True, stdout=null, stderr=null)
        client.pid = process.pid
        try:
            _, _, at = client.receive(client.shell)
            yield client, at - started
            client.session.send(client.control, client.session.msg("shutdown_request", {"restart": False}))
            with suppress(subprocess.TimeoutExpired):  # the baseline may hang at its end
                process.wait(30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            client._zmq.destroy(linger=0)


def tapped(log: Path, agent: tuple[str, ...] = COMMAND) -> str:
    """The demo agent, or another one, behind a tap: a command line."""
    return shlex.join([sys.executable, TAP, str(log), *agent])


def times(log: Path, side: str, *signs: str) -> list[float]:
    """When lines of one side passed the tap that have one of these signs."""
    notes = map(json.loads, log.read_text().splitlines())
    return [note["at"] for note in notes if note["from"] == side and any(sign in note["line"] for sign in signs)]
