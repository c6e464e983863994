"""The lock of a session, between processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from copilot_kernel.chat.saved import Lock, lock

HOLDER = """
import sys, time
from pathlib import Path
from copilot_kernel.chat.saved import lock
print(lock(Path(sys.argv[1]), "s1") is not None, flush=True)
time.sleep(60)
"""


def holder(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that tries to lock `s1`, and what it got."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_one_process_has_a_session_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    process, got = holder(tmp_path)
    try:
        assert (got, lock(tmp_path, "s1")) == ("True", None)
        other = lock(tmp_path, "s2")
        assert other is not None
        other.release()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    ours = lock(tmp_path, "s1")
    assert ours is not None
    second, got = holder(tmp_path)
    second.kill()
    second.communicate()
    ours.release()
    assert (got, list((tmp_path / "locks").iterdir())) == ("False", [])


def test_a_lock_that_was_released_can_be_had_again_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        held = lock(tmp_path, "s1")
        assert held is not None
        assert lock(tmp_path, "s1") is None
        held.release()
        held.release()
    assert len(os.listdir("/dev/fd")) == before


def test_the_lock_of_a_file_that_is_gone_is_worth_nothing(tmp_path: Path) -> None:
    held = lock(tmp_path, "s1")
    assert held is not None
    (file,) = (tmp_path / "locks").iterdir()
    file.unlink()
    second = lock(tmp_path, "s1")
    assert second is not None
    held.release()
    assert lock(tmp_path, "s1") is None
    second.release()


def test_where_nothing_can_be_locked_nobody_is_kept_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(lock(tmp_path / "file", "s1"), Lock)
