"""A rule in the user's own config file: everything else in it stays."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from copilot_kernel.chat import keeping
from copilot_kernel.chat.keeping import keep
from copilot_kernel.errors import UsageError

FILE = "copilot_kernel.json"


def test_a_new_file_is_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    file = keep("allow", "Read")
    assert (file, json.loads(file.read_text())) == (tmp_path / "config" / FILE, {"allow": ["Read"]})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [FILE]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_what_else_is_in_the_file_stays_and_so_do_its_mode_bits(tmp_path: Path, mode: int) -> None:
    file = tmp_path / FILE
    file.write_text('{"agent": "démo", "allow": ["Read"], "unknown": {"a": [1, null, 1.5]}, "deny": ["Bash"]}')
    file.chmod(mode)
    keep("allow", "Bash(ls)", file)
    keep("allow", "Read", file)
    assert json.loads(file.read_text("utf-8")) == {
        "agent": "démo",
        "allow": ["Read", "Bash(ls)"],
        "unknown": {"a": [1, None, 1.5]},
        "deny": ["Bash"],
    }
    assert (list(json.loads(file.read_text())), stat.S_IMODE(file.stat().st_mode)) == (
        ["agent", "allow", "unknown", "deny"],
        mode,
    )


def test_a_rule_that_stands_there_already_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text('{"allow":["Read"]}')
    before = file.stat()
    keep("allow", "Read", file)
    assert (file.stat().st_ino, file.read_text()) == (before.st_ino, '{"allow":["Read"]}')


@pytest.mark.parametrize(
    "text", ["{", "[]", '"x"', '{"allow": "Read"}', '{"allow": [1]}', '{"agent": "a", "agent": "b"}', "// x\n{}"]
)
def test_what_is_not_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / FILE
    file.write_text(text)
    with pytest.raises(UsageError, match=str(file)) as error:
        keep("allow", "Read", file)
    assert (file.read_text(), bool(error.value.hint)) == (text, True)
    assert list(tmp_path.iterdir()) == [file]


def test_bytes_that_are_no_text_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError):
        keep("allow", "Read", tmp_path / FILE)
    assert (tmp_path / FILE).read_bytes() == b"\xff\xfe"


def test_a_place_that_cannot_be_written_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        keep("allow", "Read", tmp_path / "file" / FILE)
    (tmp_path / FILE).mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        keep("allow", "Read", tmp_path / FILE)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Some keep their settings elsewhere, under version control."""
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"agent": "demo"}')
    (tmp_path / FILE).symlink_to(real)
    keep("deny", "Bash(rm *)", tmp_path / FILE)
    assert (tmp_path / FILE).is_symlink()
    assert json.loads(real.read_text()) == {"agent": "demo", "deny": ["Bash(rm *)"]}


def test_two_kernels_that_save_at_once_both_do(tmp_path: Path) -> None:
    rules = [f"Bash(echo {number})" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda rule: keep("allow", rule, tmp_path / FILE), rules))
    assert sorted(json.loads((tmp_path / FILE).read_text())["allow"]) == sorted(rules)


def test_a_lock_that_is_never_given_up_is_an_error_and_nothing_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "PATIENCE", 0.05)
    with held(tmp_path), pytest.raises(UsageError, match="Another program holds"):
        keep("allow", "Read", tmp_path / FILE)
    assert list(tmp_path.iterdir()) == []
    keep("allow", "Read", tmp_path / FILE)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """As another kernel does while it adds a rule."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
