"""An agent as a child process: started in its own process group, heard to its last word, ended without leftovers.

The pipes are ours rather than asyncio's: no limit on a line, no reading ahead, and `wait()` tells the end of the
process itself (with asyncio's own pipes it waited for whoever else held them, up to Python 3.12.4).
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from anyio.abc import Process

from ..errors import AgentNotFound, AgentStartFailed
from . import reaper
from .environment import guarded
from .transport import Pace, PipeTransport, single_error

TAIL = 64 * 1024
"""Bytes of standard error that are kept."""
EOF_GRACE, TERM_GRACE, KILL_GRACE = 1.0, 1.0, 1.0
"""Seconds that the end may take after closing the input, after SIGTERM, after SIGKILL."""
LINGER = 0.5
"""Seconds of silence after the process's end, when something that left its group still holds the pipes."""


@asynccontextmanager
async def agent_process(
    argv: Sequence[str], cwd: str, environ: Mapping[str, str] | None = None
) -> AsyncIterator[ProcessTransport]:
    """Start `argv` in the folder `cwd`, by default with our whole environment, and end its group at the exit.

    Raises AgentNotFound and AgentStartFailed.
    """
    transport = await _start(argv, cwd, environ)
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.attend)
            try:
                yield transport
            finally:
                await transport.close()


class ProcessTransport:
    """A transport over the process's standard streams; `process` is its leader. Made by `agent_process`."""

    def __init__(self, process: Process, pipe: PipeTransport, stderr: int) -> None:
        self.process = process
        self._pipe, self._stderr = pipe, PipeTransport(stderr, -1)
        self._tail = bytearray()
        self._ended, self._heard = anyio.Event(), anyio.Event()
        self._reading, self._attending = anyio.CancelScope(), anyio.CancelScope(shield=True)
        self._closed = False

    async def send(self, data: bytes) -> None:
        await self._pipe.send(data)

    async def receive(self) -> bytes:
        with anyio.CancelScope(deadline=self._reading.deadline) as self._reading:
            if data := await self._pipe.receive():
                return data
        with anyio.move_on_after(EOF_GRACE):
            await self._ended.wait()
            await self._heard.wait()
        return b""

    def last_words(self) -> str:
        """What is kept begins with a whole line, if it has more than one."""
        text = self._tail.decode("utf-8", "replace").strip()
        return text.partition("\n")[2] or text if len(self._tail) == TAIL else text

    def ending(self) -> str:
        """How the process ended, in words."""
        return describe(self.process.returncode)

    async def close(self) -> None:
        """End of input, SIGTERM, SIGKILL to the group, each with its time; takes at most 3 s, cancelled or not."""
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
            await self._stderr.close()

    async def _stop(self) -> None:
        """A process that does not read its input does not see the end of it either, so that is not waited for."""
        self._pipe.close_writing()
        if not self._pipe.has_unsent and await self._is_over(EOF_GRACE):
            return
        _signal(self.process.pid, signal.SIGTERM)
        if await self._is_over(TERM_GRACE):
            return
        _signal(self.process.pid, signal.SIGKILL)
        await self._is_over(KILL_GRACE)

    async def _is_over(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        return self._ended.is_set()

    async def _drain(self) -> None:
        """A process stuck in writing to us does not see the end of its input."""
        pace = Pace()
        while await self._pipe.receive():
            await pace()

    async def attend(self) -> None:
        """Runs until `close()`, through every cancellation before that."""
        with self._attending:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                tasks.start_soon(self._watch)

    async def _listen(self) -> None:
        """Keep the tail of standard error; an agent whose log nobody reads stands still."""
        pace = Pace()
        while data := await self._stderr.receive():
            self._tail += data
            del self._tail[:-TAIL]
            await pace()
        self._heard.set()

    async def _watch(self) -> None:
        """Wait for the process; what is left of its group then goes with it, and so the pipes end."""
        await self.process.wait()
        _signal(self.process.pid, signal.SIGKILL)
        reaper.unwatch(self.process.pid)
        self._reading.deadline = anyio.current_time() + LINGER
        self._ended.set()


def describe(returncode: int | None) -> str:
    """A return code of `subprocess`, in words."""
    if returncode is None:
        return "it closed its pipes"
    if returncode >= 0:
        return f"it exited with code {returncode}"
    with suppress(ValueError):
        return f"it was ended by {signal.Signals(-returncode).name}"
    return f"it was ended by signal {-returncode}"


async def _start(argv: Sequence[str], cwd: str, environ: Mapping[str, str] | None) -> ProcessTransport:
    if not os.path.isdir(cwd):
        raise AgentStartFailed(f"The folder {cwd} does not exist", "Choose another folder for the agent's session.")
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    theirs, ours = (stdin[0], stdout[1], stderr[1]), (stdout[0], stdin[1], stderr[0])
    try:
        with _translating(argv[0]):
            process = await anyio.open_process(
                list(argv), stdin=stdin[0], stdout=stdout[1], stderr=stderr[1],
                cwd=cwd, env=guarded(os.environ if environ is None else environ), start_new_session=True,
            )  # fmt: skip
    except BaseException:
        _close(ours)
        raise
    finally:
        _close(theirs)
    reaper.watch(process.pid)
    return ProcessTransport(process, PipeTransport(stdout[0], stdin[1]), stderr[0])


@contextmanager
def _translating(program: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = "Check the spelling, or give the whole path."
        raise AgentNotFound(f"There is no program {program}, or its interpreter is missing", hint) from error
    except PermissionError as error:
        raise AgentStartFailed(f"{program} is not allowed to run", f"Try: chmod +x {program}") from error
    except (OSError, ValueError) as error:
        raise AgentStartFailed(f"{program} could not be started: {error}") from error


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
