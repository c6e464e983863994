"""The documentation says what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from copilot_kernel.frontend.table import TABLE, Entry

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.mark.skipif(not PAGE.parent.is_dir(), reason="this is a check of a checkout")
def test_the_page_in_the_documentation_is_current() -> None:
    made = subprocess.run(
        [sys.executable, "-P", "-m", "copilot_kernel.frontend"], capture_output=True, check=True, timeout=30
    )
    assert PAGE.read_bytes() == made.stdout, "python -m copilot_kernel.frontend > docs/commands.md"


def test_the_page_has_a_row_for_each_command() -> None:
    names = [line.split("`")[1].split()[0] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert names == [f"%{name}" for name in TABLE]


@pytest.mark.parametrize("entry", TABLE.values(), ids=list(TABLE))
def test_a_summary_is_one_sentence(entry: Entry) -> None:
    assert (entry.summary.endswith("."), "\n" in entry.summary, len(entry.summary) <= 90) == (True, False, True)
