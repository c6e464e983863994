"""What the OpenAI-compatible API adds to the agent: until the first text, and while it streams."""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.agent.command import COMMAND
from tests.browser.lab import running_program
from tests.ports import free_port

from .plain_kernel import Json, Pipe
from .report import Report, percentile

TOKEN = "benchmark"
LIMIT = 60.0
FIRST, FLOOD = "demo: say word", "demo: flood {}"


class Bare:
    """The agent on a pipe."""

    def __init__(self) -> None:
        self.pipe = Pipe(COMMAND, self._show)
        self._first = 0.0

    def _show(self, update: Json) -> None:
        if update.get("sessionUpdate") == "agent_message_chunk":
            self._first = self._first or time.monotonic()

    def ask(self, prompt: str) -> float:
        """Seconds until the first text; returns at the end of the turn."""
        self._first, started = 0.0, time.monotonic()
        self.pipe.prompt(prompt)
        return self._first - started


class Client:
    """One connection to the API that stays open."""

    def __init__(self, port: int) -> None:
        self._web = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}

    def ask(self, prompt: str) -> float:
        """Seconds until the first text of a stream, which is read to its end. The session is kept."""
        body = json.dumps({"messages": [{"role": "user", "content": prompt}], "stream": True})
        started, first = time.monotonic(), 0.0
        self._web.request("POST", "/v1/chat/completions", body, {**self._headers, "X-Copilot-Session": "kept"})
        response = self._web.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read().decode())
        for line in response:
            if not first and b'"delta":{"content"' in line:
                first = time.monotonic() - started
        return first

    def status(self) -> float:
        """Seconds for a request that does not reach the agent: what the server needs in any case."""
        started = time.monotonic()
        self._web.request("GET", "/copilot/status", headers=self._headers)
        self._web.getresponse().read()
        return time.monotonic() - started


@contextmanager
def _server(folder: Path) -> Iterator[int]:
    """The API in a server of its own; its port."""
    port = free_port()
    private = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    environ = {**os.environ, **private, "COPILOT_KERNEL_AGENT": "demo", "JUPYTER_TOKEN": TOKEN}
    code = "from copilot_kernel.server.app import main; main()"
    command = [sys.executable, "-P", "-c", code, f"--port={port}", "--CopilotApp.rate_limit=0", "--allow-root"]
    with running_program(command, f"http://127.0.0.1:{port}/api", folder, folder, environ):
        yield port


def run(scale: float = 1.0) -> Report:
    """First text and throughput, beside the agent on a bare pipe."""
    rounds, chunks = max(10, round(100 * scale)), max(1000, round(20_000 * scale))
    report = Report("server", f"{rounds} turns, and answers of {chunks:,} chunks, against the demo agent")
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder, _server(Path(folder)) as port:
        bare, client = Bare(), Client(port)
        client.ask(FIRST)
        firsts = [(bare.ask(FIRST), client.status(), client.ask(FIRST)) for _ in range(rounds)]
        floods = [_flood(bare, client, FLOOD.format(chunks)) for _ in range(3)]
        bare.pipe.process.communicate(timeout=LIMIT)
    floor, status, ours = ([each[place] * 1000 for each in firsts] for place in range(3))
    report.add("bare agent: prompt → first text, p50", median(floor), "ms")
    report.add("server: a request that does not reach the agent, p50", median(status), "ms")
    report.add("ours: request → first text, p50", median(ours), "ms")
    report.add("ours: request → first text, p95", percentile(ours, 0.95), "ms")
    report.add("first text ÷ (bare agent + such a request)", median(ours) / (median(floor) + median(status)), "×", 6)
    report.add("bare agent: throughput", chunks / median(each[0] for each in floods), "chunks/s")
    report.add("ours: throughput", chunks / median(each[1] for each in floods), "chunks/s")
    report.add("time for a long answer, ours ÷ bare", median(ours / floor for floor, ours in floods), "×", 3)
    return report


def _flood(bare: Bare, client: Client, prompt: str) -> tuple[float, float]:
    """Seconds until the end of a long answer."""
    started = time.monotonic()
    bare.ask(prompt)
    between = time.monotonic()
    client.ask(prompt)
    return between - started, time.monotonic() - between
