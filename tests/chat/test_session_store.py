"""The lock of a session, between processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from copilot_kernel.chat.session_store import SessionLock, lock_holder, lock_session

HOLDER = """
import sys, time
from pathlib import Path
from copilot_kernel.chat.session_store import lock_session
print(lock_session(Path(sys.argv[1]), "s1", "notebook other.ipynb") is not None, flush=True)
time.sleep(60)
"""


def test_another_process_has_a_session_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert lock_session(tmp_path, "s1", "here") is None
        assert lock_holder(tmp_path, "s1") == f"notebook other.ipynb (process {process.pid})"
        other = lock_session(tmp_path, "s2", "here")
        assert other is not None
        other.release()
        process.kill()
    ours = lock_session(tmp_path, "s1", "here")
    assert ours is not None
    ours.release()
    assert list((tmp_path / "locks").iterdir()) == []


def test_a_lock_that_was_released_can_be_had_again_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for place in ("a place with a long name", "here"):
        held = lock_session(tmp_path, "s1", place)
        assert held is not None
        assert lock_session(tmp_path, "s1", "elsewhere") is None
        assert lock_holder(tmp_path, "s1") == f"{place} (process {os.getpid()})"
        held.release()
        held.release()
    assert len(os.listdir("/dev/fd")) == before


def test_the_lock_of_a_file_that_is_gone_is_worth_nothing(tmp_path: Path) -> None:
    held = lock_session(tmp_path, "s1", "here")
    assert held is not None
    (file,) = (tmp_path / "locks").iterdir()
    file.unlink()
    second = lock_session(tmp_path, "s1", "here")
    assert second is not None
    held.release()
    assert lock_session(tmp_path, "s1", "here") is None
    second.release()


def test_where_nothing_can_be_locked_nobody_is_kept_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(lock_session(tmp_path / "file", "s1", "here"), SessionLock)


def test_a_lock_names_its_newest_holder(tmp_path: Path) -> None:
    held = lock_session(tmp_path, "s1", "here")
    assert held is not None
    (file,) = (tmp_path / "locks").iterdir()
    held.release()
    file.write_text("x" * 1000)
    assert lock_session(tmp_path, "s1", "a chat") is not None
    assert lock_holder(tmp_path, "s1") == f"a chat (process {os.getpid()})"


@pytest.mark.parametrize("content", ["", "[]", '{"place": 5, "pid": 1, "host": "a"}', "[" * 9999])
def test_a_holder_that_cannot_be_read_is_another_program(tmp_path: Path, content: str) -> None:
    held = lock_session(tmp_path, "s1", "here")
    (file,) = (tmp_path / "locks").iterdir()
    file.write_text(content)
    assert lock_holder(tmp_path, "s1") == "another program"
    assert held is not None
    held.release()
    assert lock_holder(tmp_path, "s1") == "another program"


def test_a_holder_on_another_machine_is_named_with_it(tmp_path: Path) -> None:
    assert lock_session(tmp_path, "s1", "here") is not None
    (file,) = (tmp_path / "locks").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "host": "node-3", "pid": 7}))
    assert lock_holder(tmp_path, "s1") == "here (process 7 on node-3)"
