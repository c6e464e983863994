"""Files for completion, in real folders."""

import os
from pathlib import Path

import pytest
from copilot_kernel.jupyter import paths
from copilot_kernel.jupyter.paths import beneath, everywhere


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_folder_is_listed_as_it_is_typed(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "ab/c.txt", "b.txt")
    assert beneath(str(tmp_path), "a") == ["a.txt", "ab/"]
    assert beneath(str(tmp_path), "ab/") == ["ab/c.txt"]
    assert beneath(str(tmp_path / "ab"), "../b") == ["../b.txt"]
    assert beneath("/nowhere", str(tmp_path / "b")) == [str(tmp_path / "b.txt")]
    assert beneath(str(tmp_path), "nothing/") == []


def test_the_home_folder_stays_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "notes.txt")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert beneath("/nowhere", "~/no") == ["~/notes.txt"]


def test_names_are_found_at_any_depth_the_nearest_first(tmp_path: Path) -> None:
    make(tmp_path, "z/y/Notes.md", "z/notes.txt", "notable", "z/other.txt")
    assert everywhere(str(tmp_path), "not") == ["notable", "z/notes.txt", "z/y/Notes.md"]


def test_what_is_hidden_or_installed_is_left_out_unless_it_is_typed(tmp_path: Path) -> None:
    make(tmp_path, "x.py", ".x/x.py", "node_modules/x.py", ".git/x.py", "__pycache__/x.py")
    assert everywhere(str(tmp_path), "x") == ["x.py"]
    assert everywhere(str(tmp_path), "") == ["x.py"]
    assert everywhere(str(tmp_path), ".") == [".x/"]
    assert everywhere(str(tmp_path), ".x/") == [".x/x.py"]


@pytest.mark.parametrize("typed", ["/", "/etc/pass", "~/", "../", "a/../../", ".."])
def test_mentions_stay_in_the_folder(tmp_path: Path, typed: str) -> None:
    make(tmp_path, "a/b", "inner/c")
    assert everywhere(str(tmp_path / "inner"), typed) == []


def test_links_to_folders_are_not_followed_for_ever(tmp_path: Path) -> None:
    make(tmp_path, "a/note")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "note-link").symlink_to(tmp_path / "a" / "note")
    (tmp_path / "note-dead").symlink_to(tmp_path / "nothing")
    assert everywhere(str(tmp_path), "note") == ["note-dead", "note-link", "a/note"]


def test_the_look_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MAX_FOLDER_ENTRIES", 10)
    seen: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: seen.append(str(folder)) or scandir(folder))
    make(tmp_path, *(f"d{number:02}/file" for number in range(50)))
    assert (everywhere(str(tmp_path), "file"), len(seen)) == ([], 2)


def test_a_folder_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    make(tmp_path, "open/x", "file")
    assert (beneath(str(tmp_path), "file/"), everywhere(str(tmp_path / "gone"), "x")) == ([], [])
