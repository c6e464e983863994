"""The changes of a turn, found in the files as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import net_changes as module
from copilot_kernel.chat.net_changes import net_changes
from copilot_kernel.conversation.model import ToolCall

pytestmark = pytest.mark.anyio


def edits(*paths: Path, old: str = "two\n", new: str = "TWO\n") -> list[ToolCall]:
    return [
        ToolCall(number, 1, str(number), kind="edit", status="completed", content=(Diff(str(path), old, new),))
        for number, path in enumerate(paths)
    ]


async def numbers(calls: list[ToolCall], folder: Path) -> list[bool]:
    found = await net_changes(calls, str(folder))
    return [part.is_numbered for file in found.files for part in file.parts]


async def test_changes_have_their_lines_and_what_stands_around_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\nTWO\nthree\n")
    [file] = (await net_changes(edits(tmp_path / "a.txt"), str(tmp_path))).files
    [part] = file.parts
    shown = [(line.mark, line.text, line.old, line.new) for line in part.lines[1:]]
    assert shown == [(" ", "one", 1, 1), ("-", "two", 2, None), ("+", "TWO", None, 2), (" ", "three", 3, 3)]


async def test_no_file_outside_and_none_that_may_hold_secrets_is_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    paths = [tmp_path / "a.txt", tmp_path / "project" / ".env"]
    for path in paths:
        path.write_text("one\nTWO\nthree\n")
    assert await numbers(edits(*paths), tmp_path / "project") == [False, False]


async def test_only_so_many_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DIFFS", 2)
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text("one\nTWO\nthree\n")
    assert await numbers(edits(*paths), tmp_path) == [True, True, False]


async def test_a_disk_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    released = threading.Event()
    monkeypatch.setattr(module, "SECONDS", 0.01)
    monkeypatch.setattr(module, "read_for_display", lambda *_: released.wait(20))
    try:
        assert await numbers(edits(tmp_path / "a.txt"), tmp_path) == [False]
    finally:
        released.set()
