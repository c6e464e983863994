"""Windows: programs in Job Objects, pipes by threads, signals, the parent process. See `posix.py` for the interface."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio
import psutil

if sys.platform == "win32":
    import _winapi

    import pywintypes
    import win32job

    from .windows_files import direct_command

assert sys.platform == "win32"

T = TypeVar("T")

SHELL = (os.environ.get("COMSPEC", r"C:\Windows\System32\cmd.exe"), "/d", "/s", "/c")
DETACHED: Mapping[str, Any] = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
ALARM = signal.SIGBREAK
PIECE_BYTES = 64 * 1024
_FLAGS = 0x4 | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW  # 0x4: suspended


# -- pipes ----------------------------------------------------------------------------------------------------------


class _Worker:
    """A thread that does blocking calls one after the other. Independent of the kind of event loop."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Do what was begun, whether or not somebody waits for it."""
        future: Future[T] = Future()
        self._calls.put((call, future))
        return future

    def end(self, call: Callable[[], Any]) -> Future[Any]:
        """The last call."""
        future = self.begin(call)
        self._calls.put(None)
        return future

    def _run(self) -> None:
        while job := self._calls.get():
            call, future = job
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


async def _done(future: Future[T]) -> T:
    """Wait for it; a cancelled wait leaves it alone."""
    return await asyncio.shield(asyncio.wrap_future(future))


class _Pipe:
    """One end of a pipe, with the thread that reads from it or writes to it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._worker = descriptor, _Worker()
        self._is_closed = False

    def close(self) -> None:
        """Close it after what is unsent, without waiting for that. A read that waits ends with the other side's."""
        if not self._is_closed:
            self._is_closed = True
            self._worker.end(partial(os.close, self._descriptor))  # a call that waits holds a lock on the descriptor


class PipeReader(_Pipe):
    """The reading end of a pipe. At most one piece is read ahead."""

    _piece: Future[bytes] | None = None

    async def receive(self) -> bytes:
        """The next piece of any size; `b""` is the end. Never raises."""
        if self._is_closed:
            return b""
        self._piece = self._piece or self._worker.begin(partial(os.read, self._descriptor, PIECE_BYTES))
        try:
            data = await _done(self._piece)
        except OSError:
            data = b""
        self._piece = None
        return data


class PipeWriter(_Pipe):
    """The writing end of a pipe."""

    _sent: Future[None] | None = None

    @property
    def has_unsent(self) -> bool:
        """The other side has not read everything yet."""
        return self._sent is not None and not self._sent.done()

    async def send(self, data: bytes) -> None:
        """Raises OSError and ClosedResourceError. The rest of a cancelled send goes out first: no message is cut."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        self._sent = self._worker.begin(partial(_write, self._descriptor, data))
        await _done(self._sent)


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


# -- programs -------------------------------------------------------------------------------------------------------


class ProcessTree:
    """A program with all that it starts, in a Job Object."""

    def __init__(self, process: subprocess.Popen[bytes], job: Any) -> None:
        self._process, self._job = process, job
        self._end = _Worker().end(process.wait)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The program's; None as long as it runs."""
        return self._process.poll()

    async def wait(self) -> None:
        """Wait for the end of the program itself."""
        await _done(self._end)

    def terminate(self) -> None:
        """End the processes: Windows has no way to ask."""
        self.kill()

    def kill(self) -> None:
        """End the processes."""
        with suppress(pywintypes.error):  # released
            win32job.TerminateJobObject(self._job, 1)

    def release(self) -> None:
        """Call this when the tree has ended."""
        self._job.Close()


async def start(
    argv: Sequence[str],
    stdio: tuple[int, int, int],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    may_be_apart: bool = False,
) -> ProcessTree:
    """Start a program; see `posix.py`. Raises OSError and ValueError."""
    line, (stdin, stdout, stderr) = _command_line(argv, cwd, env), stdio
    process = subprocess.Popen(line, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env, creationflags=_FLAGS)
    try:
        job = _new_job()
        win32job.AssignProcessToJobObject(job, int(process._handle))  # type: ignore[attr-defined]
        psutil.Process(process.pid).resume()
    except (pywintypes.error, psutil.Error) as error:
        process.kill()
        raise OSError(str(error)) from error
    return ProcessTree(process, job)


def _new_job() -> Any:
    """Return the handle of a Job Object. What is in it ends when the handle is closed, and so with this process."""
    job = win32job.CreateJobObject(None, "")
    limits = win32job.QueryInformationJobObject(job, win32job.JobObjectExtendedLimitInformation)
    limits["BasicLimitInformation"]["LimitFlags"] |= win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
    win32job.SetInformationJobObject(job, win32job.JobObjectExtendedLimitInformation, limits)
    return job


def _command_line(argv: Sequence[str], cwd: str | os.PathLike[str], environ: Mapping[str, str]) -> str | list[str]:
    """Return the command line; for a shell, its line as it is: `cmd.exe` knows no other quotes than those around it."""
    if tuple(argv[:-1]) == SHELL:
        return f'"{SHELL[0]}" {" ".join(SHELL[1:])} "{argv[-1]}"'
    name, *arguments = argv
    program = os.path.join(cwd, name) if os.path.dirname(name) else name
    return list(direct_command((program, *arguments), environ))


# -- signals and the parent -----------------------------------------------------------------------------------------


def keep_apart() -> None:
    """Do nothing: what interrupts a kernel here reaches no other process."""


def add_signal_handler(loop: asyncio.AbstractEventLoop, number: int, callback: Callable[[], Any]) -> None:
    """Call `callback` on `loop` at each signal. Raises ValueError outside the main thread."""

    def handle(*_: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(callback)

    signal.signal(number, handle)


def interrupt(thread: int, number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to the main thread, whose identifier is `thread`."""
    signal.raise_signal(number)


def parent() -> int:
    """A handle of the parent process, for `wait_for_parent`, as Jupyter passes it on; 0 if it does not."""
    handle = os.environ.get("JPY_PARENT_PID", "")
    return int(handle) if handle.isdecimal() else 0


def wait_for_parent(parent: int) -> None:
    """Block until the process with the handle `parent` has ended."""
    _winapi.WaitForSingleObject(parent, _winapi.INFINITE)
