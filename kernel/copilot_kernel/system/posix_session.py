"""Signal all processes of a POSIX session; as a script, the reaper of `reaper.py`.

The script runs without site-packages, so only the standard library is imported here.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

assert sys.platform != "win32"


def signal_session(session: int, number: signal.Signals) -> None:
    """Send a signal to every process group of a session that still exists."""
    for group in _groups(session):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _groups(session: int) -> set[int]:
    """`timeout` and shells with job control make more than the first; without /proc, only the first is known."""
    groups = {session}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ())):
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == session:
                groups.add(os.getpgid(pid))
    return groups


def kill_at_eof(lines: Iterable[str]) -> None:
    """Kill the sessions that have begun (`+12`) and not ended (`-12`) when there are no more lines."""
    sessions: set[int] = set()
    for number in map(int, lines):
        (sessions.add if number > 0 else sessions.discard)(abs(number))
    for session in sessions:
        signal_session(session, signal.SIGKILL)


if __name__ == "__main__":
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    kill_at_eof(sys.stdin)
