"""A cell that is run again after its turn changed a file, on a real kernel, in a batch run and after a restart."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import StartKernel
from .front_end import FrontEnd, Outcome

PROMPT = "demo: say Gladly.\nedit a.txt old => new"
NAMED = "This cell's last turn changed 1 file (a.txt)"


def displays(outcome: Outcome) -> list[dict[str, object]]:
    """As a client saves them."""
    shown = (m["content"] for m in outcome.outputs if m["msg_type"] == "display_data")
    return [{"output_type": "display_data", "data": each["data"], "metadata": each["metadata"]} for each in shown]


def test_what_is_run_again_says_so_and_what_is_kept_is_not_sent(start_kernel: StartKernel, tmp_path: Path) -> None:
    book = tmp_path / "book.ipynb"
    book.write_text("{}")
    common = {"COPILOT_KERNEL_ALLOW": '["Edit"]', "JPY_SESSION_NAME": str(book)}

    def run(kernel: FrontEnd, *, live: bool = False) -> Outcome:
        (Path(kernel.process.cwd()) / "a.txt").write_text("old\n")
        outcome = kernel.run(PROMPT, live=live)
        assert (outcome.status, "Gladly." in outcome.text) == ("ok", True)
        return outcome

    def is_changed(kernel: FrontEnd) -> bool:
        return (Path(kernel.process.cwd()) / "a.txt").read_text() == "new\n"

    kernel = start_kernel(**common)
    first = run(kernel)
    assert (NAMED in first.text, is_changed(kernel)) == (False, True)
    second = run(kernel)
    assert (NAMED in second.text, is_changed(kernel)) == (True, True)

    cells = [{"id": "cell", "cell_type": "code", "source": PROMPT, "outputs": displays(first)}]
    book.write_text(json.dumps({"cells": cells}))
    keeping = start_kernel(**common, COPILOT_KERNEL_RERUN="keep")
    kept = run(keeping)
    assert (kept.text, is_changed(keeping)) == (first.text, False)
    watched = run(keeping, live=True)
    assert (f"Not sent (rerun = keep). {NAMED}" in watched.text, is_changed(keeping)) == (True, False)
