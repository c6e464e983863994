"""Start a program that is no descendant of this process; as a script, its parent.

To stop a cell, VS Code sends SIGINT to a kernel and to all processes below it, by their parents' numbers. The script
leaves this family by a fork whose parent ends. It stays the program's parent, which a sandbox needs, and in the session
that is watched here. It runs without site-packages, so only the standard library is imported before it is known which
of the two this is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyio.abc import Process

    from .transport import PipeTransport

_RESTORED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
"""Signals that this parent ignores, but not its program."""
_KILLED = -signal.SIGKILL
_is_apart = False


class ApartProcess:
    """What `ProcessTransport` needs of a process; `pid` is its session's, which has begun with another process."""

    def __init__(self, pid: int, status: PipeTransport) -> None:
        self.pid, self._status = pid, status
        self.returncode: int | None = None

    async def wait(self) -> int:
        """Wait for the end of the program; its return code. Where its parent was killed, too, that is SIGKILL's."""
        words = b""
        while data := await self._status.receive():
            words += data
        self.returncode = int(words or _KILLED)
        await self._status.close()
        return self.returncode


def keep_apart() -> None:
    """From now on, start agents as no descendants of this process: a front end interrupts all of those."""
    global _is_apart
    _is_apart = True


async def open_agent(argv: Sequence[str], **options: Any) -> Process | ApartProcess:
    """Start `argv` in a session of its own, with `options` of `anyio.open_process`. Raises OSError, ValueError."""
    import anyio

    from .transport import PipeTransport

    options["start_new_session"] = True
    if not _is_apart:
        return await anyio.open_process(argv, **options)
    reading, writing = os.pipe()
    status = PipeTransport(reading, -1)
    try:
        command = (sys.executable, "-I", "-S", __file__, str(writing), *argv)
        first = await anyio.open_process(command, pass_fds=(writing,), **options)
    except BaseException:
        await status.close()
        raise
    finally:
        os.close(writing)
    await first.wait()
    if (words := await status.receive()) != b"\n":
        await status.close()
        raise OSError(int(words or 0), os.strerror(int(words or 0)))
    return ApartProcess(first.pid, status)


def _run(status: int, argv: list[str]) -> None:
    """Be the parent of `argv`, and write into the pipe `status` that it has begun, and how it has ended."""
    if os.fork():
        os._exit(0)
    for number in _RESTORED:
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(status, False)
    try:
        program = os.posix_spawnp(argv[0], argv, os.environ, setsigdef=_RESTORED)
    except OSError as error:
        os.write(status, b"%d" % (error.errno or 0))
        return
    os.write(status, b"\n")
    for descriptor in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    _, ended = os.waitpid(program, 0)
    os.write(status, b"%d" % os.waitstatus_to_exitcode(ended))


if __name__ == "__main__":
    _run(int(sys.argv[1]), sys.argv[2:])
