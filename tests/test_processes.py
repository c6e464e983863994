"""How tests look for processes."""

import os
import subprocess

import psutil
import pytest

from .processes import any_process, children, is_alive, running


def test_a_process_that_nobody_has_waited_for_does_not_run() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert (is_alive(process.pid), running(any_process, [psutil.Process(process.pid)])) == (False, [])
    assert (is_alive(process.pid), children(process.pid)) == (False, [])


@pytest.mark.parametrize("error", [psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess])
def test_a_process_that_does_not_tell_what_it_is_is_none_of_the_wanted(error: type[psutil.Error]) -> None:
    def wanted(process: psutil.Process) -> bool:
        raise error(process.pid)

    assert running(wanted, [psutil.Process()]) == []
    assert running(any_process, [psutil.Process()]) == [psutil.Process()]
