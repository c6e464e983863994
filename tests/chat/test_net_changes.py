"""The changes of a turn, found in the files as they are, and what else undo's snapshots know to have changed."""

import threading
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import TurnOutcome
from copilot_kernel.chat import net_changes as module
from copilot_kernel.chat.net_changes import net_changes
from copilot_kernel.conversation.changes import FileChange, TurnChanges
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.undo.record import ChangedFile
from copilot_kernel.undo.tree import ABSENT, FileState

FILE = FileState("file", 0o644, "digest")


class Undo:
    """What it knows: files that may not be the agent's, with what they held before."""

    def __init__(self, **before: str | bytes | None) -> None:
        self._before = {name.replace("_", "."): text for name, text in before.items()}
        self.history = self

    def uncertain(self, number: int) -> tuple[ChangedFile, ...]:
        return tuple(ChangedFile(name, ABSENT if text is None else FILE, FILE) for name, text in self._before.items())

    def content_before(self, file: ChangedFile) -> bytes | None:
        text = self._before[file.path]
        return text.encode() if isinstance(text, str) else text


def edits(*paths: Path, old: str = "two\n", new: str = "TWO\n") -> list[ToolCall]:
    return [
        ToolCall(number, 1, str(number), kind="edit", status="completed", content=(Diff(str(path), old, new),))
        for number, path in enumerate(paths)
    ]


async def changes(calls: list[ToolCall], folder: Path, undo: Any = None) -> TurnChanges:
    return await net_changes(TurnOutcome(1, "end_turn", "", tuple(calls), "s", "A"), str(folder), undo or Undo())


async def numbers(calls: list[ToolCall], folder: Path) -> list[bool]:
    return [part.is_numbered for file in (await changes(calls, folder)).files for part in file.parts]


def described(file: FileChange) -> tuple[str, str, int, int]:
    return file.path, file.what, file.added, file.removed


# -- the agent's changes ----------------------------------------------------------------------------------------------


async def test_changes_have_their_lines_and_what_stands_around_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\nTWO\nthree\n")
    [file] = (await changes(edits(tmp_path / "a.txt"), tmp_path)).files
    [part] = file.parts
    shown = [(line.mark, line.text, line.old, line.new) for line in part.lines[1:]]
    assert shown == [(" ", "one", 1, 1), ("-", "two", 2, None), ("+", "TWO", None, 2), (" ", "three", 3, 3)]


async def test_a_text_that_may_be_shown_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    names = ("a.txt", "same.txt", "other.txt", ".env", "binary", "large.txt", "gone.txt", "../outside.txt")
    paths = [tmp_path / "project" / name for name in names]
    for path in paths:
        path.write_bytes(b"two\n")
    paths[2].write_bytes(b"2\n")
    paths[4].write_bytes(b"\xff")
    paths[5].write_bytes(b"2" * (module.MAX_LOCATED_BYTES + 1))
    paths[6].unlink()
    found = await changes(edits(*paths), tmp_path / "project")
    two, other = "27dd8ed44a83ff94", "53c234e5e8472b6a"
    assert [file.digest for file in found.files] == [two, two, other, "", "", "", "", ""]
    digests = {file.path: file.digest for file in found.files}
    paths[1].unlink()
    assert await module.unchanged(digests, str(tmp_path / "project")) == ["a.txt", "other.txt"]


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
    released = threading.Event()
    monkeypatch.setattr(module, "READ_SECONDS", 0.01)
    monkeypatch.setattr(module, "read_for_display", lambda *_: str(released.wait(20)))
    try:
        found = await changes(edits(tmp_path / "a.txt"), tmp_path, Undo(a_txt="old\n"))
    finally:
        released.set()
    assert ([part.is_numbered for file in found.files for part in file.parts], found.also) == ([False], ())


# -- the others -------------------------------------------------------------------------------------------------------


async def test_what_else_changed_is_told_with_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\nthree\n")
    (tmp_path / "new.txt").write_text("n\n")
    found = await changes([], tmp_path, Undo(a_csv="1\n2\n3\n", new_txt=None, gone_txt="g\ng\n"))
    assert [*map(described, found.also)] == [
        ("a.csv", "changed", 1, 1),
        ("new.txt", "new", 1, 0),
        ("gone.txt", "changed", 0, 2),
    ]
    first = found.also[0].parts[0].lines
    assert [(line.mark, line.text, line.new) for line in first[1:]] == [
        *((" ", "1", 1), (" ", "2", 2)),
        *(("-", "3", None), ("+", "three", 3)),
    ]


@pytest.mark.parametrize(("name", "before", "now"), [
    pytest.param(".env", "KEY=1\n", "KEY=2\n", id="may hold secrets"),
    pytest.param("a.bin", b"\0\1", "text", id="was binary"),
    pytest.param("a.bin", b"\xff", "text", id="was not UTF-8"),
    pytest.param("a.bin", "text", "\0", id="is binary"),
])  # fmt: skip
async def test_of_some_files_only_the_name_is_told(tmp_path: Path, name: str, before: str | bytes, now: str) -> None:
    (tmp_path / name).write_text(now)
    found = await changes([], tmp_path, Undo(**{name.replace(".", "_"): before}))
    assert found.also == (FileChange(name, "changed"),)


async def test_the_content_of_a_deleted_file_that_may_hold_secrets_is_not_told(tmp_path: Path) -> None:
    assert (await changes([], tmp_path, Undo(_env="KEY=1\n"))).also == (FileChange(".env", "changed"),)


async def test_of_many_files_the_others_are_counted(tmp_path: Path) -> None:
    names = {f"f{number}": "old\n" for number in range(module.MAX_OTHERS + 3)}
    for name in names:
        (tmp_path / name).write_text("new\n")
    found = await changes([], tmp_path, Undo(**names))
    assert (len(found.also), found.more) == (module.MAX_OTHERS, 3)


async def test_of_long_files_only_the_lines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_COMPARED_CHARS", 10)
    for name in ("a", "b"):
        (tmp_path / name).write_text("new\n")
    found = await changes([], tmp_path, Undo(a="old\n", b="old\n"))
    assert [(file.words, bool(file.parts[0].lines)) for file in found.also] == [("+1 −1", True), ("+1 −1", False)]
