"""How soon a kernel's first prompt says what it does: with the kernel just started, and the agent not yet."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from .front_end import ARGV, kernel_process

LIMIT = 0.5
"""Seconds from the request to the line in the cell."""
TRIES = 3
"""Of which the quickest counts: the machine may be busy."""
PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")


@pytest.mark.parametrize(
    ("argv", "setup", "code"),
    [(ARGV, "", "demo: wait"), (PYTHON, "%load_ext copilot_kernel", "%%copilot\ndemo: wait")],
    ids=["Copilot notebook", "Python notebook"],
)
def test_the_first_prompt_of_a_kernel_has_a_status_within_half_a_second(
    tmp_path: Path, argv: tuple[str, ...], setup: str, code: str
) -> None:
    taken = [_seconds(tmp_path / str(number), argv, setup, code) for number in range(TRIES)]
    assert min(taken) <= LIMIT, taken


def _seconds(folder: Path, argv: tuple[str, ...], setup: str, code: str) -> float:
    folder.mkdir()
    with kernel_process(folder, {}, argv) as front_end:
        assert not setup or front_end.run(setup).status == "ok"
        assert front_end.children() == []
        began = time.monotonic()
        cell = front_end.execute(code)
        front_end.shows("◐ Starting the agent", cell)
        taken = time.monotonic() - began
        front_end.manager.interrupt_kernel()
        assert "■ Stopped by you" in front_end.finish(cell).text
        return taken
