"""A cell that is run again after its turn changed a file, on a real kernel and after a restart."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import StartKernel
from .front_end import FrontEnd, Outcome

PROMPT = "demo: say Gladly.\nedit a.txt old => new"
NAMED = "This prompt changed a.txt last time"


def displays(outcome: Outcome) -> list[dict[str, object]]:
    """As a client saves them."""
    shown = (m["content"] for m in outcome.outputs if m["msg_type"] == "display_data")
    return [{"output_type": "display_data", "data": each["data"], "metadata": each["metadata"]} for each in shown]


def test_what_is_run_again_says_so_and_what_is_kept_is_not_sent(start_kernel: StartKernel, tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    book = work / "book.ipynb"
    book.write_text("{}")
    common = {"COPILOT_KERNEL_ALLOW": '["Edit"]', "JPY_SESSION_NAME": str(book)}

    def run(kernel: FrontEnd, *, live: bool) -> tuple[Outcome, str]:
        file = Path(kernel.process.cwd()) / "a.txt"
        file.write_text("old\n")
        return kernel.run(PROMPT, live=live), file.read_text()

    kernel = start_kernel(**common)
    (first, first_text), (second, second_text) = (run(kernel, live=False) for _ in range(2))
    assert (NAMED in first.text, NAMED in second.text, first_text, second_text) == (False, True, "new\n", "new\n")

    cells = [{"id": "cell", "cell_type": "code", "source": PROMPT, "outputs": displays(first)}]
    book.write_text(json.dumps({"cells": cells}))
    kept, text = run(start_kernel(**common, COPILOT_KERNEL_RERUN="keep"), live=True)
    assert f"Not sent (rerun = keep). {NAMED}" in kept.text
    assert ("Gladly." in kept.text, text) == (True, "old\n")
