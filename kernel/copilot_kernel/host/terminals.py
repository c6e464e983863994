"""Commands that the agent runs through us (`terminal/*`): started, heard, waited for, ended without leftovers.

A command leads a session of its own. Its end, however it comes, is the end of everything in that session: a server
in the background ends with the shell that started it, so it belongs into a terminal that stays open. Only what calls
`setsid` itself, as daemons do, gets away. Output and errors share one pipe, so that they keep their order.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import anyio
from anyio.abc import Process
from anyio.lowlevel import checkpoint_if_cancelled

from ..acp import reaper
from ..acp.posix_session import signal_session
from ..errors import HostError, HostMissing, HostRefused
from .command import Command, environment
from .tail import Tail

MAX_TERMINALS = 128
PIECE = 64 * 1024
PAUSE = 0.002
"""Seconds between two looks at a command's output: a flood leaves the loop to the others."""
LINGER = 0.5
"""Seconds of silence, after the command's end, for what still holds its output."""
TERM_GRACE, KILL_GRACE = 1.0, 1.5
"""Seconds that the end may take after SIGTERM, after SIGKILL."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended: `code`, or the name of the `signal`; neither is known of one that could not be ended."""

    code: int | None = None
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """What is kept of a command's output, and how it ended, if it did."""

    text: str
    truncated: bool
    exit: Exit | None


OnOutput = Callable[[str, str, Exit | None], None]
"""Called with a terminal's id and the text that came, in order, and once at the end with how it ended. Must not
raise."""


class Terminals:
    """`async with Terminals(on_output) as terminals`: the commands of one agent, which end with the block."""

    def __init__(self, on_output: OnOutput) -> None:
        self._on_output = on_output
        self._home = anyio.create_task_group()
        self._open: dict[str, _Terminal] = {}
        self._starting = anyio.Lock()
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._home.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        with anyio.CancelScope(shield=True):
            async with self._starting:
                self._closed = True
        await self.kill_all()
        self._open.clear()
        self._home.cancel_scope.cancel()
        return await self._home.__aexit__(*error)

    async def create(self, command: Command) -> str:
        """Start a command and return the id of its terminal. Raises HostRefused, HostError."""
        id = f"terminal-{secrets.token_hex(4)}"
        async with self._starting:
            self._check_free()
            with anyio.CancelScope(shield=True):
                process, pipe = await _start(command)
            self._open[id] = _Terminal(process, pipe, command.limit, partial(self._on_output, id))
            self._home.start_soon(self._open[id].attend)
        try:
            await checkpoint_if_cancelled()
        except BaseException:
            await self.release(id)
            raise
        return id

    def output(self, id: str) -> Output:
        """What came so far. Raises HostMissing."""
        return self._get(id).output

    async def wait_for_exit(self, id: str) -> Exit:
        """Waits for the end of the command, whatever ends it; then all of its output is there. Raises HostMissing."""
        terminal = self._get(id)
        await terminal.over.wait()
        return terminal.exit or Exit()

    async def kill(self, id: str) -> None:
        """End the command, at most in 3 s; the terminal stays. Raises HostMissing."""
        await self._get(id).end()

    async def release(self, id: str) -> None:
        """End the command and forget the terminal. Raises HostMissing."""
        terminal = self._get(id)
        del self._open[id]
        await terminal.end()

    async def kill_all(self) -> None:
        """End every command, at most in 3 s, cancelled or not; the terminals stay until they are released."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for terminal in self._open.values():
                    tasks.start_soon(terminal.end)

    def _check_free(self) -> None:
        if self._closed:
            raise HostRefused("The session of these terminals is over")
        if len(self._open) >= MAX_TERMINALS:
            raise HostRefused(f"There are {MAX_TERMINALS} terminals already", "Release some.")

    def _get(self, id: str) -> _Terminal:
        if id not in self._open:
            raise HostMissing(f"There is no terminal {id[:100]!r}; it may have been released")
        return self._open[id]


class _Terminal:
    def __init__(self, process: Process, pipe: int, limit: int, say: Callable[[str, Exit | None], None]) -> None:
        self._process, self._pipe, self._say = process, pipe, say
        self._tail = Tail(limit)
        self.over, self._heard = anyio.Event(), anyio.Event()
        self._attending = anyio.CancelScope(shield=True)

    @property
    def exit(self) -> Exit | None:
        return _exit(self._process.returncode) if self.over.is_set() else None

    @property
    def output(self) -> Output:
        return Output(self._tail.text, self._tail.truncated, self.exit)

    async def attend(self) -> None:
        """Hear the command to its end and end what it left, through every cancellation before that."""
        try:
            with self._attending:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._listen)
                    await self._process.wait()
                    await self._hear_out()
                    signal_session(self._process.pid, signal.SIGKILL)
                    await self._hear_out()
                    tasks.cancel_scope.cancel()
        finally:
            if self._process.returncode is None:
                signal_session(self._process.pid, signal.SIGKILL)
            os.close(self._pipe)
            reaper.unwatch(self._process.pid)
            self.over.set()
            self._say(self._tail.feed(b"", final=True), self.exit)

    async def end(self) -> None:
        with anyio.CancelScope(shield=True):
            for number, seconds in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, KILL_GRACE)):
                if not self.over.is_set():
                    signal_session(self._process.pid, number)
                    with anyio.move_on_after(seconds):
                        await self.over.wait()
        self._attending.cancel()

    async def _listen(self) -> None:
        os.set_blocking(self._pipe, False)
        while data := await self._receive():
            if text := self._tail.feed(data):
                self._say(text, None)
            await anyio.sleep(PAUSE)
        self._heard.set()

    async def _receive(self) -> bytes:
        while True:
            await anyio.wait_readable(self._pipe)
            with suppress(BlockingIOError):
                return os.read(self._pipe, PIECE)

    async def _hear_out(self) -> None:
        with anyio.move_on_after(LINGER):
            await self._heard.wait()


def _exit(returncode: int | None) -> Exit:
    if returncode is None or returncode >= 0:
        return Exit(code=returncode)
    with suppress(ValueError):
        return Exit(signal=signal.Signals(-returncode).name)
    return Exit(signal=f"signal {-returncode}")


async def _start(command: Command) -> tuple[Process, int]:
    """The process, and the end of the pipe that its output comes from."""
    with _translating(command.argv[0]):
        reading, writing = os.pipe()
        try:
            process = await anyio.open_process(
                command.argv, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing,
                cwd=command.cwd, env=environment(command, os.environ), start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
    reaper.watch(process.pid)
    return process, reading


@contextmanager
def _translating(program: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise HostRefused(f"There is no program {program}, or its interpreter is missing") from error
    except PermissionError as error:
        raise HostRefused(f"{program} is not allowed to run") from error
    except (OSError, ValueError) as error:
        raise HostError(f"{program} could not be started: {error}") from error
