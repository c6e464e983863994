"""The user's own config file: a value is added, and everything else stays."""

import json
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from copilot_kernel import config_writer
from copilot_kernel.config_writer import LOCKED, add_to_list, change_setting
from copilot_kernel.environment import environment_of
from copilot_kernel.errors import UsageError
from copilot_kernel.places import user_file
from filelock import FileLock

FILE = "copilot_kernel.json"
LOCK = f".{FILE}.lock"


def test_a_new_file_is_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    file = add_to_list("allow", "Read", user_file(environment_of(str(tmp_path))))
    assert (file, json.loads(file.read_text())) == (tmp_path / "config" / FILE, {"version": 1, "allow": ["Read"]})
    assert (stat.S_IMODE(file.stat().st_mode), set(file.parent.iterdir())) == (0o600, {file, file.with_name(LOCK)})


def test_what_else_is_in_the_file_stays_and_so_do_its_mode_bits(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text('{"agent": "démo", "allow": ["Read"], "unknown": {"a": [1, null, 1.5]}, "deny": ["Bash"]}')
    file.chmod(0o644)
    add_to_list("allow", "Bash(ls)", file)
    before = file.stat()
    add_to_list("allow", "Read", file)
    assert (file.stat().st_ino, stat.S_IMODE(before.st_mode)) == (before.st_ino, 0o644)
    assert list(json.loads(file.read_text("utf-8")).items()) == [
        ("agent", "démo"),
        ("allow", ["Read", "Bash(ls)"]),
        ("unknown", {"a": [1, None, 1.5]}),
        ("deny", ["Bash"]),
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"allow": [1]}', '{"agent": "a", "agent": "b"}'])
def test_what_is_not_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / FILE
    file.write_text(text)
    with pytest.raises(UsageError, match=str(file)) as error:
        add_to_list("allow", "Read", file)
    assert (file.read_text(), bool(error.value.hint)) == (text, True)
    assert set(tmp_path.iterdir()) == {file, file.with_name(LOCK)}


def test_a_place_that_cannot_be_written_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / FILE).mkdir()
    for file in (tmp_path / "file" / FILE, tmp_path / FILE):
        with pytest.raises(UsageError, match="cannot be written"):
            add_to_list("allow", "Read", file)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Some keep their settings elsewhere, under version control."""
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"agent": "demo"}')
    (tmp_path / FILE).symlink_to(real)
    add_to_list("deny", "Bash(rm *)", tmp_path / FILE)
    assert (tmp_path / FILE).is_symlink()
    assert json.loads(real.read_text()) == {"agent": "demo", "deny": ["Bash(rm *)"]}


def test_two_kernels_that_save_at_once_both_do(tmp_path: Path) -> None:
    rules = [f"Bash(echo {number})" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda rule: add_to_list("allow", rule, tmp_path / FILE), rules))
    assert sorted(json.loads((tmp_path / FILE).read_text())["allow"]) == sorted(rules)


def test_a_lock_that_is_never_given_up_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_writer, "LOCK_SECONDS", 0.05)
    with FileLock(tmp_path / LOCK, thread_local=False):
        with pytest.raises(UsageError, match=re.escape(LOCKED.format(tmp_path / FILE))):
            add_to_list("allow", "Read", tmp_path / FILE)
        assert not (tmp_path / FILE).exists()
    add_to_list("allow", "Read", tmp_path / FILE)


def test_a_value_is_set_and_reset_and_a_file_that_already_says_so_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text('{"unknown": 1, "undo": true}')
    for value, expected in ((False, {"unknown": 1, "undo": False}), (None, {"unknown": 1})):
        change_setting("undo", lambda before, value=value: value, file)
        before = file.stat().st_ino
        change_setting("undo", lambda before, value=value: value, file)
        assert (json.loads(file.read_text()), file.stat().st_ino) == (expected, before)
