"""Kernels as processes, and a client that loses no time: it dials before the kernel listens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

OURS = ("-m", "copilot_kernel")
PLAIN = (str(Path(__file__).with_name("plain_kernel.py")),)
TAP = str(Path(__file__).with_name("tap.py"))
LIMIT = 300.0


class Client:
    """Shell and iopub of one kernel, read raw so that bytes can be counted and arrival be timed."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.session = Session(key=info["key"].encode() if isinstance(info["key"], str) else info["key"])
        self.zmq = zmq.Context()
        self.shell, self.iopub = self._dial(zmq.DEALER, info["shell_port"]), self._dial(zmq.SUB, info["iopub_port"])
        self.control = self._dial(zmq.DEALER, info["control_port"])
        self.iopub.subscribe(b"")
        self.pid = 0
        """Of the kernel's process."""

    def _dial(self, kind: int, port: int) -> zmq.Socket[bytes]:
        socket = self.zmq.socket(kind)
        socket.linger = 0
        socket.reconnect_ivl = 1
        socket.rcvhwm = 0
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

    def receive(self, socket: zmq.Socket[bytes], timeout: float = LIMIT) -> tuple[dict[str, Any], int, float]:
        """The next message, its bytes, and when it came (seconds, monotonic). Raises TimeoutError."""
        if not socket.poll(int(timeout * 1000)):
            raise TimeoutError("the kernel is silent")
        parts = socket.recv_multipart()
        at = time.monotonic()
        _, frames = self.session.feed_identities(parts)
        return self.session.deserialize(frames), sum(map(len, parts)), at

    def until_idle(self, request: str) -> Iterator[tuple[dict[str, Any], int, float]]:
        """All of iopub up to and with the idle of `request`."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            message, size, at = self.receive(self.iopub)
            yield message, size, at
            idle = message["content"].get("execution_state") == "idle"
            if idle and message["parent_header"].get("msg_id") == request:
                return
        raise TimeoutError("the cell does not end")

    def close(self) -> None:
        """Hang up."""
        self.zmq.destroy(linger=0)


@contextmanager
def kernel(
    command: tuple[str, ...] = OURS, agent: str = "demo", cwd: Path | None = None, **settings: str
) -> Iterator[tuple[Client, float]]:
    """A running kernel and the seconds from spawn to `kernel_info_reply`. It is stopped at the end.

    It runs in the folder `cwd`, by default an empty one. `settings` are variables of its environment.
    """
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        path, info = write_connection_file(str(Path(folder) / "kernel.json"))
        client = Client(dict(info))
        client.send("kernel_info_request", {})
        environment = {**os.environ, "COPILOT_KERNEL_AGENT": agent, **settings}
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *command, "-f", path],
            env=environment,
            cwd=cwd or folder,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _, _, at = client.receive(client.shell)
            client.pid = process.pid
            yield client, at - started
        finally:
            stop(process, client)


def stop(process: subprocess.Popen[bytes], client: Client) -> None:
    """Ask the kernel to shut down; end its process group if it does not."""
    client.session.send(client.control, client.session.msg("shutdown_request", {"restart": False}))
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    finally:
        client.close()
