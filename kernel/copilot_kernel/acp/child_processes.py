"""What agents and the commands that they run have in common as child processes: environment, end, reaper.

The reaper ends the sessions of a process that could not end them itself, because of SIGKILL or `os._exit`. As long as
a session is watched, a child process reads from a pipe that only this process writes to. The pipe's end is the end of
this process: the reaper then kills the watched sessions. Unlike PR_SET_PDEATHSIG, that reaches grandchildren, depends
on no thread, and works on macOS. A process that calls `setsid` leaves its session and lives on.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from . import posix_session

LOOPBACK = "127.0.0.1"
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
    """`environ`, with Git set to take no folder for a bare repository by itself.

    The settings of one may run any program, and a clone or an edit can bring one along.
    """
    count = environ.get(_GIT_COUNT, "") or "0"
    if not (count.isascii() and count.isdecimal()):
        return dict(environ)  # Git refuses to run with it
    ours = {f"GIT_CONFIG_KEY_{int(count)}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{int(count)}": "explicit"}
    return {**environ, **ours, _GIT_COUNT: str(int(count) + 1)}


def start_problem(program: str, error: OSError | ValueError) -> str:
    """Why `program` could not be started."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{program} was not found, or its interpreter is missing"
    if isinstance(error, PermissionError):
        return f"{program} is not executable"
    return f"{program} could not be started: {error}"


def without_proxy_to_us(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ`, with what listens on 127.0.0.1 reached without a proxy: an agent may be given a server there."""
    upper, lower = environ.get("NO_PROXY", ""), environ.get("no_proxy", "")
    names = {"NO_PROXY": upper or lower, "no_proxy": lower or upper}
    named = {name: f"{hosts},{LOOPBACK}".lstrip(",") for name, hosts in names.items() if hosts != "*"}
    return {**environ, **named}


def signal_name(returncode: int) -> str:
    """The signal that ended a process, by its negative return code."""
    with suppress(ValueError):
        return signal.Signals(-returncode).name
    return f"signal {-returncode}"


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
