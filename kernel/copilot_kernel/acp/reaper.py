"""Ends the agents and commands of a process that could not end them itself, because of SIGKILL or `os._exit`.

As long as a session is watched, a child process, the reaper, reads from a pipe that only this process writes to. The
pipe's end is the end of this process: the reaper then kills the watched sessions. Unlike PR_SET_PDEATHSIG, that reaches
grandchildren, depends on no thread, and works on macOS. A process that calls `setsid` leaves its session and lives on.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from contextlib import suppress

from . import posix_session

_log = logging.getLogger(__name__)


class _Reaper:
    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            self._child = subprocess.Popen(
                (sys.executable, "-I", "-S", posix_session.__file__), stdin=reading,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True,
            )  # fmt: skip
        except BaseException:
            self.close()
            raise
        finally:
            os.close(reading)

    def send(self, session: int) -> None:
        with suppress(OSError):  # the reaper was killed
            os.write(self._pipe, b"%+d\n" % session)

    def close(self) -> None:
        os.close(self._pipe)

    def stop(self) -> None:
        self.close()
        self._child.kill()
        self._child.wait()


_watched: set[int] = set()
_reaper: _Reaper | None = None


def watch(session: int) -> None:
    """If this process ends before `unwatch(session)`, everything in the session is killed."""
    global _reaper
    try:
        _reaper = _reaper or _Reaper()
    except OSError as error:
        _log.warning("a kernel that is killed will leave its agent behind: %s", error)
        return
    _watched.add(session)
    _reaper.send(session)


def unwatch(session: int) -> None:
    """Call it when the session has ended. There is no reaper where there is nothing to watch."""
    global _reaper
    if _reaper is None or session not in _watched:
        return
    _watched.remove(session)
    _reaper.send(-session)
    if not _watched:
        _reaper.stop()
        _reaper = None


def _forget() -> None:
    """A fork, such as a worker of `multiprocessing`, must neither hold the pipe open nor write to it."""
    global _reaper
    _watched.clear()
    if _reaper is not None:
        _reaper.close()
        _reaper = None


os.register_at_fork(after_in_child=_forget)
