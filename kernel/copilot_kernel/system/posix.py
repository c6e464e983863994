"""POSIX: programs in sessions of their own, pipes, signals, the parent process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a kernel that starts needs `parent` alone
    from anyio.abc import Process

if sys.platform != "win32":
    from . import apart
    from .apart import keep_apart as keep_apart
    from .posix_session import signal_session
    from .reaper import unwatch, watch

assert sys.platform != "win32"

SHELL = ("/bin/sh", "-c")
"""Runs the command line that follows."""
DETACHED: Mapping[str, Any] = {"start_new_session": True}
"""Options of `Popen` for a program that outlives this process and its terminal."""
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ALARM = signal.SIGVTALRM
"""Signal for a limit of time; few programs use it."""
PIECE_BYTES = 64 * 1024
"""Read at once."""
_PARENT_SECONDS = 0.5


# -- pipes ----------------------------------------------------------------------------------------------------------


class _Pipe:
    """One end of a pipe, which it makes non-blocking and closes."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    def close(self) -> None:
        """Close it without waiting for the other side."""
        if self._descriptor >= 0:
            import anyio

            anyio.notify_closing(self._descriptor)
            with suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = -1


class PipeReader(_Pipe):
    """The reading end of a pipe."""

    async def receive(self) -> bytes:
        """The next piece of any size; `b""` is the end. Never raises; need not wait."""
        import anyio

        with suppress(OSError, anyio.ClosedResourceError):
            while self._descriptor >= 0:
                try:
                    return os.read(self._descriptor, PIECE_BYTES)
                except BlockingIOError:
                    await anyio.wait_readable(self._descriptor)
        return b""


class PipeWriter(_Pipe):
    """The writing end of a pipe."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._unsent: deque[memoryview] = deque()

    @property
    def has_unsent(self) -> bool:
        """The other side has not read everything yet."""
        return bool(self._unsent)

    async def send(self, data: bytes) -> None:
        """Raises OSError and ClosedResourceError. The rest of a cancelled send goes out first: no message is cut."""
        self._unsent.append(memoryview(data))
        while self._unsent:
            await self._write()

    async def _write(self) -> None:
        import anyio

        if self._descriptor < 0:
            raise anyio.ClosedResourceError
        try:
            written = os.write(self._descriptor, self._unsent[0])
        except BlockingIOError:
            await anyio.wait_writable(self._descriptor)
            return
        rest = self._unsent.popleft()[written:]
        if rest:
            self._unsent.appendleft(rest)


# -- programs -------------------------------------------------------------------------------------------------------


class ProcessTree:
    """A program with what it starts: all processes of its session."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The program's; negative for a signal, None as long as it runs."""
        return self._process.returncode

    async def wait(self) -> None:
        """Wait for the end of the program itself."""
        await self._process.wait()

    def terminate(self) -> None:
        """Ask the processes to end."""
        signal_session(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the processes."""
        signal_session(self.pid, signal.SIGKILL)

    def release(self) -> None:
        """Call this when the tree has ended."""
        unwatch(self.pid)


async def start(
    argv: Sequence[str],
    stdio: tuple[int, int, int],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    may_be_apart: bool = False,
) -> ProcessTree:
    """Start a program with `stdio`: its stdin, stdout and stderr. Its tree is killed if this process ends before
    `release()`.

    `may_be_apart`: as no descendant of this process, after `keep_apart()`. Raises OSError and ValueError.
    """
    import anyio

    stdin, stdout, stderr = stdio
    command = [*apart.prefix, *argv] if may_be_apart else list(argv)
    with anyio.CancelScope(shield=True):  # cancelled while it starts, its children would live on
        process = await anyio.open_process(
            command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env, start_new_session=True
        )
    watch(process.pid)
    return ProcessTree(process)


# -- signals and the parent -----------------------------------------------------------------------------------------


def add_signal_handler(loop: asyncio.AbstractEventLoop, number: int, callback: Callable[[], Any]) -> None:
    """Call `callback` on `loop` at each signal. Raises ValueError and RuntimeError outside the main thread."""
    loop.add_signal_handler(number, callback)


def interrupt(thread: int, number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to the main thread, whose identifier is `thread`."""
    signal.pthread_kill(thread, number)


def parent() -> int:
    """The parent process, for `wait_for_parent`; 0 if it never ends: process 1, as in a container."""
    number = os.getppid()
    return number if number > 1 else 0


def wait_for_parent(parent: int) -> None:
    """Block until `parent` is our parent no more."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
