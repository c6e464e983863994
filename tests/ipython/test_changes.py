"""`_copilot.changes`: what the whole session changed, as `%changes` lists it."""

from __future__ import annotations

from pathlib import Path

from copilot_kernel.chat.undo import UNDO_OFF

from .conftest import StartKernel

SHOW = "print([(each.turn, each.kind, each.path, each.what) for each in _copilot.changes])"


def test_changes_are_those_of_all_turns_so_far(start_kernel: StartKernel) -> None:
    kernel = start_kernel(COPILOT_KERNEL_ALLOW='["Edit"]')
    (Path(kernel.process.cwd()) / "two.txt").write_text("old\n")
    kernel.run("%copilot demo: create one.txt first", live=False)
    assert "[(1, 'file', 'one.txt', 'new')]" in kernel.run(SHOW, live=False).text
    kernel.run("first = _copilot", live=False)
    kernel.run("%copilot demo: edit two.txt old => new", live=False)
    both = "[(1, 'file', 'one.txt', 'new'), (2, 'file', 'two.txt', 'changed')]"
    assert both in kernel.run(SHOW, live=False).text
    assert "['two.txt']" in kernel.run("print([each.path.rpartition('/')[2] for each in _copilot.file_changes])").text
    kernel.run("%copilot demo: say Nothing more.", live=False)
    assert both in kernel.run(SHOW, live=False).text
    assert "1 0" in kernel.run("print(len(first.changes), len(_copilot.file_changes))", live=False).text


def test_without_undo_it_says_so(start_kernel: StartKernel) -> None:
    kernel = start_kernel(COPILOT_KERNEL_UNDO="off")
    kernel.run("%copilot demo: say Hello.", live=False)
    outcome = kernel.run("_copilot.changes", live=False)
    assert outcome.reply["content"]["evalue"] == UNDO_OFF
