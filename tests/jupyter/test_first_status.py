"""A kernel's first prompt says what it does before the agent is there."""

import sys
from pathlib import Path

import pytest

from .front_end import ARGV, kernel_process

PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")


@pytest.mark.parametrize(
    ("argv", "setup", "code"),
    [(ARGV, "", "Hello?"), (PYTHON, "%load_ext copilot_kernel", "%%copilot\nHello?")],
    ids=["Copilot notebook", "Python notebook"],
)
def test_the_first_prompt_of_a_kernel_says_that_the_agent_starts(
    tmp_path: Path, argv: tuple[str, ...], setup: str, code: str
) -> None:
    with kernel_process(tmp_path, {"COPILOT_KERNEL_DEMO": "never-answers"}, argv) as front_end:
        assert not setup or front_end.run(setup).status == "ok"
        assert front_end.children() == []
        cell = front_end.execute(code)
        front_end.shows("◐ Starting the agent", cell)
        front_end.manager.interrupt_kernel()
        assert "■ Stopped by you" in front_end.finish(cell).text
