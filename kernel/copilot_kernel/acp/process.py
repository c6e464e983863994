"""An agent as a child process. Its output is read to the last byte; it ends with all processes that it started.

The pipes are ours rather than asyncio's: no limit on a line, no reading ahead, and `wait()` reports the end of the
process itself (with asyncio's own pipes it waited for whoever else held them, up to Python 3.12.4).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio

from ..errors import AgentError, AgentNotFound, AgentStartFailed
from ..system.processes import PipeReader, ProcessTree, start
from .child_processes import Graces, guarded, signal_name, start_problem, without_proxy_to_us
from .transport import Pace, PipeTransport, single_error

TAIL_BYTES = 64 * 1024
"""Limit of standard error that is kept."""
ALLOW_ALL = "COPILOT_ALLOW_ALL"
"""Variable with which Copilot CLI asks about nothing: whoever wrote a project's `.env` may have set it."""


@asynccontextmanager
async def agent_process(
    argv: Sequence[str], cwd: str, *, environ: Mapping[str, str], graces: Graces | None = None
) -> AsyncIterator[ProcessTransport]:
    """Start `argv` in the folder `cwd`, and end its processes at the exit.

    Raises AgentNotFound and AgentStartFailed.
    """
    transport = await _start(argv, cwd, graces or Graces(), environ)
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.attend)
            try:
                yield transport
            finally:
                await transport.close()


class ProcessTransport:
    """A transport over the process's standard streams; `process` is its leader. Made by `agent_process`."""

    is_remote = False

    def __init__(self, process: ProcessTree, pipe: PipeTransport, stderr: PipeReader, graces: Graces) -> None:
        self.process = process
        self._pipe, self._stderr, self._graces = pipe, stderr, graces
        self._tail = bytearray()
        self._ended, self._stderr_ended = anyio.Event(), anyio.Event()
        self._reading, self._attending = anyio.CancelScope(), anyio.CancelScope(shield=True)
        self._closed = False

    async def send(self, data: bytes) -> None:
        await self._pipe.send(data)

    async def receive(self) -> bytes:
        with anyio.CancelScope(deadline=self._reading.deadline) as self._reading:
            if data := await self._pipe.receive():
                return data
        with anyio.move_on_after(self._graces.eof):
            await self._ended.wait()
            await self._stderr_ended.wait()
        return b""

    def last_words(self) -> str:
        """The end of standard error, from the beginning of a line."""
        text = self._tail.decode("utf-8", "replace").strip()
        return text.partition("\n")[2] or text if len(self._tail) == TAIL_BYTES else text

    def ending(self) -> str:
        """Return how the process ended, in words."""
        code = self.process.returncode
        if code is None:
            return "it closed its pipes"
        return f"it exited with code {code}" if code >= 0 else f"it was ended by {signal_name(code)}"

    async def close(self) -> None:
        """End of input, SIGTERM, SIGKILL to its processes, each with its grace; cancelled or not."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._drain)
                await self._stop()
                tasks.cancel_scope.cancel()
            self._attending.cancel()
            await self._pipe.close()
            self._stderr.close()

    async def _stop(self) -> None:
        """A process that does not read its input does not see the end of it either, so there is nothing to wait for."""
        self._pipe.close_writing()
        if not self._pipe.has_unsent and await self._has_ended(self._graces.eof):
            return
        for end, seconds in ((self.process.terminate, self._graces.term), (self.process.kill, self._graces.kill)):
            end()
            if await self._has_ended(seconds):
                return

    async def _has_ended(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        return self._ended.is_set()

    async def _drain(self) -> None:
        """A process stuck in writing to us does not see the end of its input."""
        pace = Pace()
        while await self._pipe.receive():
            await pace()

    async def attend(self) -> None:
        """Run until `close()`, through every cancellation before that."""
        with self._attending:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read_stderr)
                await self.process.wait()
                self.process.kill()  # what it has started, and so the pipes end
                self.process.release()
                self._reading.deadline = anyio.current_time() + self._graces.linger
                self._ended.set()

    async def _read_stderr(self) -> None:
        """Keep the tail; an agent whose log is not read would block."""
        pace = Pace()
        while data := await self._stderr.receive():
            self._tail += data
            del self._tail[:-TAIL_BYTES]
            await pace()
        self._stderr_ended.set()


async def _start(argv: Sequence[str], cwd: str, graces: Graces, environ: Mapping[str, str]) -> ProcessTransport:
    if not os.path.isdir(cwd):
        raise AgentStartFailed(f"The folder {cwd} does not exist", "Choose another folder for the agent's session.")
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    theirs, ours = (stdin[0], stdout[1], stderr[1]), (stdout[0], stdin[1], stderr[0])
    passed = {name: value for name, value in environ.items() if name != ALLOW_ALL}
    try:
        process = await start(argv, theirs, cwd=cwd, env=without_proxy_to_us(guarded(passed)), may_be_apart=True)
    except BaseException as error:
        _close(ours)
        if isinstance(error, OSError | ValueError):
            raise _start_error(argv[0], error) from error
        raise
    finally:
        _close(theirs)
    return ProcessTransport(process, PipeTransport(stdout[0], stdin[1]), PipeReader(stderr[0]), graces)


def _start_error(program: str, error: OSError | ValueError) -> AgentError:
    problem = start_problem(program, error)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return AgentNotFound(problem, "Check the spelling, or give the full path.")
    return AgentStartFailed(problem, f"Try: chmod +x {program}" if isinstance(error, PermissionError) else "")


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
