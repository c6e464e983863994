"""What the OpenAI-compatible API adds to the agent: until the first text, and while it streams."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from tests.agent.command import COMMAND

from .report import Report, percentile

TOKEN = "benchmark"
LIMIT = 60.0
FIRST, FLOOD = "demo: say word", "demo: flood {}"


class Bare:
    """The agent on a pipe: readline, json, nothing else."""

    def __init__(self, folder: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=folder)
        self._number = 0
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        answer, _, _ = self.call("session/new", {"cwd": folder, "mcpServers": []})
        self._session = answer["result"]["sessionId"]

    def call(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], float, int]:
        """The answer, the seconds until the first text, and how many pieces there were."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        started, first, pieces = time.monotonic(), 0.0, 0
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        for said in self.process.stdout:
            message = json.loads(said)
            if "method" not in message:
                return message, first, pieces
            if message["params"].get("update", {}).get("sessionUpdate") == "agent_message_chunk":
                first, pieces = first or time.monotonic() - started, pieces + 1
        raise EOFError

    def ask(self, prompt: str) -> float:
        """Seconds until the first text."""
        blocks = [{"type": "text", "text": prompt}]
        return self.call("session/prompt", {"sessionId": self._session, "prompt": blocks})[1]


class Client:
    """One connection to the API that stays open."""

    def __init__(self, port: int) -> None:
        self._web = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)

    def ask(self, prompt: str, session: str = "") -> float:
        """Seconds until the first text of a stream, which is read to its end."""
        body = json.dumps({"messages": [{"role": "user", "content": prompt}], "stream": True})
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        started, first = time.monotonic(), 0.0
        self._web.request("POST", "/v1/chat/completions", body, {**headers, "X-Copilot-Session": session})
        response = self._web.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read().decode())
        for line in response:
            if not first and b'"delta":{"content"' in line:
                first = time.monotonic() - started
        return first

    def health(self) -> float:
        """Seconds for a request that asks no agent: what the server needs in any case."""
        started = time.monotonic()
        self._web.request("GET", "/copilot/status", headers={"Authorization": f"Bearer {TOKEN}"})
        self._web.getresponse().read()
        return time.monotonic() - started


@contextmanager
def server(folder: str) -> Iterator[int]:
    """The API in a server of its own; its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    places = {f"JUPYTER_{name}_DIR": os.path.join(folder, name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **places, "COPILOT_KERNEL_AGENT": "demo", "JUPYTER_TOKEN": TOKEN}
    options = [f"--port={port}", "--CopilotApp.rate_limit=0", "--allow-root"]
    code = "from copilot_kernel.server.app import main; main()"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-P", "-c", code, *options]
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **quiet)  # type: ignore[call-overload]
    try:
        _wait(port, process)
        yield port
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait(20)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server does not listen")


def run(scale: float = 1.0) -> Report:
    """First text and throughput, beside the agent on a bare pipe."""
    rounds, pieces = max(10, round(100 * scale)), max(1000, round(20_000 * scale))
    report = Report("server", f"{rounds} turns, and floods of {pieces} pieces, against the demo agent")
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder, server(folder) as port:
        bare, client = Bare(folder), Client(port)
        client.ask(FIRST, "kept")
        firsts = [
            (bare.ask(FIRST), client.health(), client.ask(FIRST, "kept"), client.ask(FIRST)) for _ in range(rounds)
        ]
        floods = [_flood(bare, client, FLOOD.format(pieces)) for _ in range(3)]
        assert bare.process.stdin is not None
        bare.process.stdin.close()
        bare.process.wait(10)
    floor, health, kept, new = ([each[place] * 1000 for each in firsts] for place in range(4))
    least = median(floor) + median(health)
    report.add("bare agent: prompt → first text, p50", median(floor), "ms")
    report.add("server: a request that asks no agent, p50", median(health), "ms")
    report.add("ours, session kept: request → first text, p50", median(kept), "ms")
    report.add("ours, session kept: request → first text, p95", percentile(kept, 0.95), "ms")
    report.add("ours, a new session each: request → first text, p50", median(new), "ms")
    report.add("overhead of a kept session, p50", median(kept) - median(floor), "ms")
    report.add("first text of a kept session / (bare agent + such a request)", median(kept) / least, "×", 6.0)
    report.add("bare agent: throughput", pieces / median(each[0] for each in floods), "pieces/s")
    report.add("ours: throughput", pieces / median(each[1] for each in floods), "pieces/s")
    report.add("time for a flood, ours / bare", median(ours / floor for floor, ours in floods), "×", 3.0)
    return report


def _flood(bare: Bare, client: Client, prompt: str) -> tuple[float, float]:
    """Seconds until the end of a long answer."""
    started = time.monotonic()
    bare.ask(prompt)
    between = time.monotonic()
    client.ask(prompt, "kept")
    return between - started, time.monotonic() - between
