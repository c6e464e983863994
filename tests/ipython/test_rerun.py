"""Python cells that are run again after their turns changed files."""

from __future__ import annotations

from pathlib import Path

from .conftest import StartKernel

CELL = """
turn = %copilot demo: edit a.txt old => new
print(turn.file_changes[0].path)
turn = %copilot demo: edit b.txt old => new
print(turn.file_changes[0].path)
"""


def test_each_prompt_of_a_cell_keeps_its_own_answer(start_kernel: StartKernel) -> None:
    kernel = start_kernel(COPILOT_KERNEL_RERUN="keep", COPILOT_KERNEL_ALLOW='["Edit"]')
    folder = Path(kernel.process.cwd())
    texts = []
    for _ in range(2):
        for name in ("a.txt", "b.txt"):
            (folder / name).write_text("old\n")
        outcome = kernel.run(CELL, live=False)
        assert outcome.status == "ok"
        texts.append(outcome.text.removeprefix("ℹ agent: demo\n"))  # the first prompt says it
    assert texts[0] == texts[1]
    assert texts[0].index("/a.txt\n") < texts[0].index("/b.txt\n")
    assert [(folder / name).read_text() for name in ("a.txt", "b.txt")] == ["old\n"] * 2
