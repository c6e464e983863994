"""How long until a kernel answers, beside the least kernel that there is, and how long a first prompt takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.browser.lab import Notebook, find_chromium, running_browser, running_lab

from .kernels import OURS, PLAIN, kernel, tapped, times
from .report import Report
from .undo import FILES, project

OPEN_SECONDS = 3.0
"""How long the notebook has been open."""
_ASK = """async () => {
  const { shell, commands } = window.jupyterapp;
  const area = shell.currentWidget.content.activeCell.outputArea.node;
  const asked = performance.now();
  const shown = new Promise(resolve => {
    const look = () => area.textContent.trim() ? resolve(performance.now() - asked) : requestAnimationFrame(look);
    look();
  });
  commands.execute('notebook:run-cell');
  return await shown;
}"""
"""Milliseconds from the command of the page to the frame with the first text of the cell."""


def run(scale: float = 1.0) -> Report:
    """In turns, so that a busy machine slows both."""
    rounds = max(3, round(15 * scale))
    report = Report("startup", f"spawn → kernel_info_reply, {rounds} starts each; then the first prompt")
    ours, plain = list[float](), list[float]()
    for _ in range(rounds):
        for command, found in ((PLAIN, plain), (OURS, ours)):
            with kernel(command) as (_, seconds):
                found.append(seconds)
    report.add("minimal kernel, median", median(plain) * 1000, "ms")
    report.add("Copilot kernel, median", median(ours) * 1000, "ms")
    report.add("ratio of the medians", median(ours) / median(plain), "×", 1.1)
    cold, warm, shown = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        root, log = project(Path(folder) / "project", FILES), Path(folder) / "tap.jsonl"
        for _ in range(max(3, rounds // 2)):
            for setting, found in (("off", cold), ("on", warm)):
                sent, seen = _first_prompt(root, log, setting)
                found.append(sent)
                shown.append(seen)
    report.add("first prompt → first line in the cell, slowest", max(shown) * 1000, "ms", 500)
    if find_chromium():
        report.add("first prompt → first line in JupyterLab, cold, slowest", max(_in_page(rounds)), "ms", 500)
    report.add("first prompt → session/prompt, cold, median", median(cold) * 1000, "ms")
    report.add("first prompt → session/prompt, warm, median", median(warm) * 1000, "ms", 100)
    return report


def _first_prompt(root: Path, log: Path, setting: str) -> tuple[float, float]:
    """Seconds until the agent gets it, and until the cell shows something."""
    command = tapped(log)
    with kernel(cwd=root, COPILOT_KERNEL_DEMO_COMMAND=command, COPILOT_KERNEL_WARM_START=setting) as (client, _):
        time.sleep(OPEN_SECONDS)
        asked = time.monotonic()
        received = client.run("demo: say Hello")
    shown = next(at for message, _, at in received if message["msg_type"] == "display_data")
    return times(log, "client", '"session/prompt"')[-1] - asked, shown - asked


def _in_page(rounds: int) -> Iterator[float]:
    """Milliseconds until the page shows something, in a new notebook each time."""
    with (
        tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-", ignore_cleanup_errors=True) as folder,
        running_lab(Path(folder), COPILOT_KERNEL_WARM_START="off") as lab,
        running_browser() as browser,
    ):
        project(lab.root, FILES)
        context = browser.new_context()
        for number in range(rounds):
            page = Notebook.open(context, lab, lab.write(f"{number}.ipynb", "demo: say Hello").name).page
            page.wait_for_timeout(OPEN_SECONDS * 1000)  # JupyterLab is still loading
            yield page.evaluate(_ASK)
            page.close()
