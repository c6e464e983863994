"""The reaper ends the sessions of a process that could not end them itself, because of SIGKILL or `os._exit`.

As long as a session is watched, a child process reads from a pipe that only this process writes to. The pipe's end is
the end of this process: the reaper then kills the watched sessions. Unlike PR_SET_PDEATHSIG, that reaches
grandchildren, depends on no thread, and works on macOS. A process that calls `setsid` leaves its session and lives on.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from contextlib import suppress

from . import posix_session

assert sys.platform != "win32"

_log = logging.getLogger(__name__)
_watched: set[int] = set()
_reaper: subprocess.Popen[bytes] | None = None


def watch(session: int) -> None:
    """Kill everything in the session if this process ends before `unwatch(session)`."""
    global _reaper
    try:
        _reaper = _reaper or subprocess.Popen(
            (sys.executable, "-I", "-S", posix_session.__file__), bufsize=0, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        _log.warning("if this process is killed, its agent keeps running: %s", error)
        return
    _watched.add(session)
    _send(_reaper, session)


def unwatch(session: int) -> None:
    """Call this when the session has ended; the reaper itself ends with the last one."""
    global _reaper
    if _reaper is None or session not in _watched:
        return
    _watched.remove(session)
    _send(_reaper, -session)
    if not _watched:
        _reaper.kill()
        _reaper.communicate()
        _reaper = None


def _send(reaper: subprocess.Popen[bytes], session: int) -> None:
    assert reaper.stdin is not None
    with suppress(OSError):  # the reaper was killed
        reaper.stdin.write(b"%+d\n" % session)


def _after_fork() -> None:
    """A forked child, such as a worker of `multiprocessing`, must neither hold the pipe open nor write to it."""
    global _reaper
    _watched.clear()
    if _reaper is not None and _reaper.stdin is not None:
        _reaper.stdin.close()
    _reaper = None


os.register_at_fork(after_in_child=_after_fork)
