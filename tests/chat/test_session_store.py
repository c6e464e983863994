"""The lock of a session, between processes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from copilot_kernel.chat.session_store import lock_session
from copilot_kernel.errors import SessionInUse

HOLDER = """
import sys, time
from pathlib import Path
from copilot_kernel.chat.session_store import lock_session
lock = lock_session(Path(sys.argv[1]), "s1", "notebook other.ipynb")
print("locked", flush=True)
time.sleep(60)
"""


def assert_in_use(folder: Path, where: str) -> None:
    with pytest.raises(SessionInUse, match=re.escape(f"is open in {where}.")):
        lock_session(folder, "s1", "elsewhere")


def test_another_process_has_a_session_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        assert_in_use(tmp_path, "notebook other.ipynb")
        lock_session(tmp_path, "s2", "here").release()
        process.kill()
    lock_session(tmp_path, "s1", "here").release()
    assert list((tmp_path / "locks").iterdir()) == []


def test_a_lock_that_was_released_can_be_had_again_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for place in ("a place with a long name", "here"):
        held = lock_session(tmp_path, "s1", place)
        assert_in_use(tmp_path, f"{place}")
        held.release()
        held.release()
    assert len(os.listdir("/dev/fd")) == before


def test_the_lock_of_a_file_that_is_gone_is_worth_nothing(tmp_path: Path) -> None:
    held = lock_session(tmp_path, "s1", "here")
    (file,) = (tmp_path / "locks").iterdir()
    file.unlink()
    second = lock_session(tmp_path, "s1", "here")
    held.release()
    assert_in_use(tmp_path, "here")
    second.release()


def test_where_nothing_can_be_locked_a_session_can_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock_session(tmp_path / "file", "s1", "here").release()


OTHER_MACHINE = json.dumps({"place": "here", "host": "node-3", "pid": 7})


@pytest.mark.parametrize(
    ("content", "where"),
    [(OTHER_MACHINE, "here on node-3")]
    + [(odd, "another program") for odd in ("", "[]", '{"place": 5, "pid": 1, "host": "a"}', "[" * 9999)],
)
def test_a_holder_is_named_as_far_as_its_file_can_be_read(tmp_path: Path, content: str, where: str) -> None:
    held = lock_session(tmp_path, "s1", "here")
    (file,) = (tmp_path / "locks").iterdir()
    file.write_text(f" {content}")
    assert_in_use(tmp_path, where)
    held.release()
