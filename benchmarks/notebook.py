"""What the notebook's tools cost: the server's start, a call without a question, a large table, a change in the page.

The calls are as in a kernel: a chat, its gate, HTTP on loopback; the client is a bare socket, and the notebook holds a
few cells in memory. What needs a kernel or a page is measured in real ones (`notebook_kernel.py`).
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat.notebook_gate import NotebookGate
from copilot_kernel.chat.permission import Permissions
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.turn import Stop
from copilot_kernel.config import Settings
from copilot_kernel.ipython.variables import inspect_variable
from copilot_kernel.notebook.calls import NotebookCalls
from copilot_kernel.notebook.server import Endpoint, NotebookServer

from tests.chat.people import Person
from tests.notebook_tools.fakes import FakeNotebook

from . import notebook_kernel
from .report import Report, percentile

STARTS, CALLS = 20, 1_000

# In a process that has what a chat and a kernel need anyway: what the server and the tools add to it. CPU time.
_START = """
import asyncio, hmac, time, tracemalloc
import copilot_kernel.acp.agent_connection, copilot_kernel.conversation.reduce, copilot_kernel.redaction

async def main():
    if {memory}:
        tracemalloc.start()
    started = time.process_time()
    from copilot_kernel.notebook.server import NotebookServer
    from copilot_kernel.notebook.calls import NotebookCalls
    server = NotebookServer()
    await server.register(object())
    seconds = time.process_time() - started
    print(tracemalloc.get_traced_memory()[0] if {memory} else seconds)
    await server.close()

asyncio.run(main())
"""


def run(scale: float = 1.0) -> Report:
    """The bounds are those of something that nobody notices."""
    what = "the server started, tools called, a table described, kernels, and cells edited in a page"
    report = Report("notebook", what)
    _add_server(report, scale)
    _add_kernel(report, scale)
    report.add("summary of 10,000,000 rows, slowest", max(_summaries(_rounds(20, scale))) * 1000, "ms", bound=100)
    if times := _edits(_rounds(100, scale)):
        report.add("cell edit → drawn in the page, median", median(times), "ms")
        report.add("cell edit → drawn in the page, p95", percentile(times, 0.95), "ms", bound=150)
    else:
        report.what += " (not measured: there is no Chromium)"
    return report


def _rounds(usual: int, scale: float) -> int:
    return max(3, round(usual * scale))


def _add_server(report: Report, scale: float) -> None:
    starts, bytes = _starts(_rounds(STARTS, scale))
    times = asyncio.run(_calls(max(50, round(CALLS * scale))))
    report.add("server start, median of CPU time", median(starts) * 1000, "ms", bound=20)
    report.add("memory of the server and the tools", bytes / 1e6, "MB", bound=1)
    report.add("a tool call without a question, median", median(times) * 1000, "ms")
    report.add("a tool call without a question, p95", percentile(times, 0.95) * 1000, "ms", bound=30)


def _add_kernel(report: Report, scale: float) -> None:
    loadings = notebook_kernel.loadings(_rounds(10, scale))
    report.add("%load_ext copilot_kernel, median of CPU time", median(loadings) * 1000, "ms", bound=20)
    floor, *ours = notebook_kernel.cells(_rounds(300, scale)).items()
    report.add(f"a cell without %copilot, {floor[0]}, median", median(floor[1]) * 1000, "ms")
    for kind, times in ours:
        report.add(f"… {kind}, ratio of the medians", median(times) / median(floor[1]), "×", bound=1.1)
    stops = notebook_kernel.stops(_rounds(10, scale))
    report.add("SIGINT in a blocking run → end of the cell, slowest", max(stops), "s", bound=1)


def _starts(rounds: int) -> tuple[list[float], float]:
    """Seconds of each start, and bytes: counting these takes its time. What was compiled once is kept."""
    with TemporaryDirectory(prefix="copilot-kernel-benchmark-") as compiled:
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}

        def start(*, memory: bool) -> float:
            command = [sys.executable, "-P", "-c", _START.replace("{memory}", str(memory))]
            return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout)

        start(memory=False)
        return [start(memory=False) for _ in range(rounds)], start(memory=True)


def _summaries(rounds: int) -> list[float]:
    """Seconds of each description, the first of all included."""
    import numpy
    import pandas

    names = {"df": pandas.DataFrame({name: numpy.arange(10_000_000) for name in "abcd"})}
    return [_seconds(lambda: inspect_variable(names, "df", "", 5)) for _ in range(rounds)]


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _edits(rounds: int) -> list[float]:
    """Milliseconds from the kernel's message to the frame that shows it; nothing without Chromium."""
    from tests.browser.driven import DrivenNotebook
    from tests.browser.lab import find_chromium, running_browser, running_lab

    if find_chromium() is None:
        return []
    with (
        TemporaryDirectory(prefix="copilot-kernel-benchmark-", ignore_cleanup_errors=True) as folder,
        running_lab(Path(folder) / "lab") as lab,
        running_browser() as browser,
        DrivenNotebook(browser.new_context(), lab, "edits", "x = 0") as driven,
    ):
        (x,) = driven.ids()
        return [driven.milliseconds_until_seen(x, f"x = {each}", f"x = {each + 1}") for each in range(rounds)]


async def _calls(rounds: int) -> list[float]:
    """Seconds of each call, one after the other on one connection."""
    state = ConversationState()
    gate = NotebookGate(state, Permissions(Settings(), state), lambda: True, "cells")
    server = NotebookServer()
    endpoint = await server.register(NotebookCalls(FakeNotebook(*("x = 1\n" * 20,) * 10), gate, takes_images=True))
    state.begin([TextBlock("Go")], Person(), Stop())
    gc.collect()
    port = int(endpoint.url.split(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return [await _timed(reader, writer, endpoint, number) for number in range(rounds)]
    finally:
        writer.close()
        await server.close()


async def _timed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, endpoint: Endpoint, number: int) -> float:
    call: dict[str, Any] = {"name": "read_notebook", "arguments": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}).encode()
    host = endpoint.url.split("/")[2]
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {endpoint.token}\r\n"
    started = time.perf_counter()
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
    result = json.loads(await reader.readexactly(length))
    elapsed = time.perf_counter() - started
    if result["result"]["isError"]:
        raise RuntimeError(result["result"]["content"][0]["text"])
    return elapsed
