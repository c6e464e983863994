"""The lock of a session, between processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from copilot_kernel.chat.saved import Lock, holder, lock

HOLDER = """
import sys, time
from pathlib import Path
from copilot_kernel.chat.saved import lock
print(lock(Path(sys.argv[1]), "s1", "notebook other.ipynb") is not None, flush=True)
time.sleep(60)
"""


def holding(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that tries to lock `s1`, and what it got."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_one_process_has_a_session_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    process, got = holding(tmp_path)
    try:
        assert (got, lock(tmp_path, "s1", "here")) == ("True", None)
        assert holder(tmp_path, "s1") == f"notebook other.ipynb (process {process.pid})"
        other = lock(tmp_path, "s2", "here")
        assert other is not None
        other.release()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    ours = lock(tmp_path, "s1", "here")
    assert ours is not None
    second, got = holding(tmp_path)
    second.kill()
    second.communicate()
    ours.release()
    assert (got, list((tmp_path / "locks").iterdir())) == ("False", [])


def test_a_lock_that_was_released_can_be_had_again_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        held = lock(tmp_path, "s1", "here")
        assert held is not None
        assert lock(tmp_path, "s1", "here") is None
        held.release()
        held.release()
    assert len(os.listdir("/dev/fd")) == before


def test_the_lock_of_a_file_that_is_gone_is_worth_nothing(tmp_path: Path) -> None:
    held = lock(tmp_path, "s1", "here")
    assert held is not None
    (file,) = (tmp_path / "locks").iterdir()
    file.unlink()
    second = lock(tmp_path, "s1", "here")
    assert second is not None
    held.release()
    assert lock(tmp_path, "s1", "here") is None
    second.release()


def test_where_nothing_can_be_locked_nobody_is_kept_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(lock(tmp_path / "file", "s1", "here"), Lock)


def test_a_lock_names_its_newest_holder(tmp_path: Path) -> None:
    process, _ = holding(tmp_path)
    process.kill()
    process.communicate()
    assert lock(tmp_path, "s1", "a chat") is not None
    assert holder(tmp_path, "s1") == f"a chat (process {os.getpid()})"


UNREADABLE = [
    "",
    "rubbish",
    "[]",
    "null",
    '{"place": 5, "pid": 1, "host": "a"}',
    '{"place": "a", "pid": true}',
    "[" * 9999,
]


@pytest.mark.parametrize("content", UNREADABLE)
def test_a_holder_that_cannot_be_read_is_another_program(tmp_path: Path, content: str) -> None:
    held = lock(tmp_path, "s1", "here")
    (file,) = (tmp_path / "locks").iterdir()
    file.write_text(content)
    assert holder(tmp_path, "s1") == "another program"
    assert held is not None
    held.release()
    assert holder(tmp_path, "s1") == "another program"


def test_a_holder_on_another_machine_is_named_with_it(tmp_path: Path) -> None:
    assert lock(tmp_path, "s1", "here") is not None
    (file,) = (tmp_path / "locks").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "host": "node-3", "pid": 7}))
    assert holder(tmp_path, "s1") == "here (process 7 on node-3)"
