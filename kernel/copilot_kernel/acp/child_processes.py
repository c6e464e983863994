"""What agents and the commands that they run have in common as child processes: environment, end, reaper.

The reaper ends the sessions of a process that could not end them itself, because of SIGKILL or `os._exit`. As long as
a session is watched, a child process reads from a pipe that only this process writes to. The pipe's end is the end of
this process: the reaper then kills the watched sessions. Unlike PR_SET_PDEATHSIG, that reaches grandchildren, depends
on no thread, and works on macOS. A process that calls `setsid` leaves its session and lives on.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from . import posix_session

_GIT_COUNT = "GIT_CONFIG_COUNT"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Graces:
    """Seconds that the end of a child process may take after each step."""

    eof: float = 1.0
    """After closing its input."""
    term: float = 1.0
    kill: float = 1.0
    linger: float = 0.5
    """After its end, when something that left its group still holds the pipes."""


def guarded(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ`, with Git told not to take any folder for a bare repository by itself.

    The settings of one may run any program, and a clone or an edit can bring one along.
    """
    count = environ.get(_GIT_COUNT, "") or "0"
    if not (count.isascii() and count.isdecimal()):
        return dict(environ)  # Git refuses to run with it
    ours = {f"GIT_CONFIG_KEY_{int(count)}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{int(count)}": "explicit"}
    return {**environ, **ours, _GIT_COUNT: str(int(count) + 1)}


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
    """Kill everything in the session if this process ends before `unwatch(session)`."""
    global _reaper
    try:
        _reaper = _reaper or _Reaper()
    except OSError as error:
        _log.warning("if this process is killed, its agent keeps running: %s", error)
        return
    _watched.add(session)
    _reaper.send(session)


def unwatch(session: int) -> None:
    """Call this when the session has ended; the reaper itself ends with the last one."""
    global _reaper
    if _reaper is None or session not in _watched:
        return
    _watched.remove(session)
    _reaper.send(-session)
    if not _watched:
        _reaper.stop()
        _reaper = None


def _after_fork() -> None:
    """A forked child, such as a worker of `multiprocessing`, must neither hold the pipe open nor write to it."""
    global _reaper
    _watched.clear()
    if _reaper is not None:
        _reaper.close()
        _reaper = None


os.register_at_fork(after_in_child=_after_fork)
