"""A long answer in JupyterLab: the longest task of the page while it streams, and how far behind the page is."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from .kernels import PLAIN, TAP
from .recordings import command, message, record
from .report import Report

SIZE, CHUNKS, RATE = 1_000_000, 10_000, 1_000
TRACED = ["toplevel", "-*"]
_WATCH = """() => {
  const cell = document.querySelectorAll('.jp-CodeCell')[1];
  window.seen = 0;
  new MutationObserver(() => {
    const last = [...cell.querySelectorAll('.jp-OutputArea-child')].slice(-2);
    if (!window.seen && last.some(each => each.textContent.includes('END-MARK'))) {
      window.seen = Date.now();
    }
  }).observe(cell, {childList: true, subtree: true});
}"""

_FOLLOW = """() => {
  const notebook = document.querySelector('.jp-WindowedPanel-outer');
  setInterval(() => { notebook.scrollTop = notebook.scrollHeight; }, 300);
}"""


def add(report: Report, scale: float) -> None:
    """CPU time of tasks; the time behind is wall time. The baseline is the minimal kernel in the same JupyterLab."""
    from tests.browser.lab import find_chromium

    if find_chromium() is None:
        report.what += " (no page: there is no Chromium)"
        return
    _add(report, "page, minimal kernel, 1 MB at 100 KB/s", _streamed(SIZE, "plain"))
    _add(report, "page, 1 MB at 100 KB/s", _streamed(SIZE), 200, 0.5)
    if scale >= 1:
        _add(report, "page, 10 MB at 1 MB/s", _streamed(10 * SIZE), 200, 1.0)
        _add(report, "page, 10 MB at 1 MB/s, its end in view", _streamed(10 * SIZE, at_end=True))


def _add(
    report: Report,
    name: str,
    measured: tuple[list[float], float],
    longest: float | None = None,
    behind: float | None = None,
) -> None:
    tasks, seconds = measured
    report.add(f"{name}: longest task, CPU", max(tasks), "ms", longest)
    report.add("… all tasks", sum(tasks) / 1000, "s")
    report.add("… last byte → in the page", seconds, "s", behind)


def _streamed(size: int, kernel: str = "copilot", *, at_end: bool = False) -> tuple[list[float], float]:
    """Milliseconds of each task of the page until the text is there, and how long after the last byte that was.

    `at_end`: the page keeps the end of the notebook in view.
    """
    from tests.browser.lab import Notebook, running_browser, running_lab

    with TemporaryDirectory(prefix="copilot-kernel-benchmark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        record(folder, "first", message(20, 1))
        # Of more than 1,000 `stream` messages a second, Jupyter Server drops some.
        rate = RATE if kernel == "copilot" else RATE // 10
        record(folder, "long", message(size, CHUNKS * rate // RATE))
        agent = f"{shlex.join([sys.executable, TAP, str(folder / 'tap')])} {command(folder)}"
        with running_lab(folder / "lab", agent) as lab, running_browser() as browser:
            lab.add_kernel("plain", (sys.executable, *PLAIN, "-f", "{connection_file}"))
            path = lab.write("long.ipynb", "first", f"long {rate}", kernel=kernel)
            notebook = Notebook.open(browser.new_context(), lab, path.name)
            notebook.run(0)
            notebook.page.wait_for_timeout(5_000)  # JupyterLab is still loading
            notebook.page.evaluate(_WATCH)
            if at_end:
                notebook.page.evaluate(_FOLLOW)
            browser.start_tracing(page=notebook.page, path=folder / "trace.json", categories=TRACED)
            notebook.run(1, wait=False)
            notebook.page.wait_for_function("() => window.seen", timeout=300_000)
            seen = notebook.page.evaluate("() => window.seen") / 1000
            browser.stop_tracing()
        return _tasks(folder / "trace.json"), seen - _last_sent(folder / "tap")


def _last_sent(log: Path) -> float:
    """By the clock of the page."""
    notes = map(json.loads, log.read_text().splitlines())
    last = max(note["at"] for note in notes if note["from"] == "agent" and "agent_message_chunk" in note["line"])
    return float(last) + time.time() - time.monotonic()


def _tasks(trace: Path) -> list[float]:
    """Of the busiest main thread of a page."""
    events = json.loads(trace.read_text())["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks: dict[tuple[int, int], list[float]] = {main: [] for main in mains}
    for event in events:
        main = (event["pid"], event["tid"])
        if main in mains and event["name"].endswith("RunTask"):
            tasks[main].append(event.get("tdur", 0) / 1000)
    return max(tasks.values(), key=sum)
