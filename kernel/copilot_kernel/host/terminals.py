"""Commands that the agent runs through us (`terminal/*`), and the end of their output.

A command leads a session of its own. Its end, however it comes, is the end of everything in that session: a background
server ends with the shell that started it, so it belongs into a terminal that stays open. Only a process that calls
`setsid` itself, as daemons do, escapes. Output and errors share one pipe to keep their order.
"""

from __future__ import annotations

import codecs
import os
import secrets
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from ..acp.child_processes import Graces, signal_name, start_problem
from ..errors import HostError, HostMissing, HostRefused
from ..sandbox import Sandbox
from ..system.processes import PipeReader, ProcessTree, start
from .command import TerminalCommand, environment

TOO_MANY_TERMINALS = "At most {} terminals can be open"
MAX_TERMINALS = 128
PAUSE_SECONDS = 0.002
"""Between two reads of a command's output, so that a flood leaves the event loop to others."""


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """End of a command: its `code` or the name of its `signal`; neither if it could not be ended."""

    code: int | None = None
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class TerminalOutput:
    """The end of a command's output, and how the command ended, if it did."""

    text: str
    truncated: bool
    exit: ExitStatus | None


class Terminals:
    """`async with Terminals(on_output) as terminals`: the commands of one agent, which end with the block.

    `on_output` gets a terminal's id and each new piece of text, and once at the end the exit status. It must not raise.
    """

    def __init__(self, on_output: Callable[[str, str, ExitStatus | None], None], graces: Graces | None = None) -> None:
        self._on_output, self._graces = on_output, graces or Graces()
        self._tasks = anyio.create_task_group()
        self._open: dict[str, _Terminal] = {}
        self._starting = anyio.Lock()
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        with anyio.CancelScope(shield=True):
            async with self._starting:
                self._closed = True
        await self.kill_all()
        self._open.clear()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(*error)

    async def create(self, command: TerminalCommand, sandbox: Sandbox | None = None) -> str:
        """Start a command, in the sandbox if there is one, and return the id of its terminal.

        Raises HostRefused, HostError.
        """
        id = f"terminal-{secrets.token_hex(4)}"
        async with self._starting:
            self._check_free()
            try:
                with anyio.CancelScope(shield=True):
                    process, pipe = await _start(command, sandbox)
            except (OSError, ValueError) as error:
                is_final = isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError)
                raise (HostRefused if is_final else HostError)(start_problem(command.argv[0], error)) from error
            self._open[id] = _Terminal(process, pipe, Tail(command.limit), partial(self._on_output, id), self._graces)
            self._tasks.start_soon(self._open[id].attend)
        try:
            await checkpoint_if_cancelled()
        except BaseException:
            await self.release(id)
            raise
        return id

    def output(self, id: str) -> TerminalOutput:
        """The output so far. Raises HostMissing."""
        return self._get(id).output

    async def wait_for_exit(self, id: str) -> ExitStatus:
        """Wait for the end of the command, after which all of its output is there. Raises HostMissing."""
        terminal = self._get(id)
        await terminal.ended.wait()
        return terminal.exit or ExitStatus()

    async def kill(self, id: str) -> None:
        """End the command, within the graces; the terminal stays. Raises HostMissing."""
        await self._get(id).end()

    async def release(self, id: str) -> None:
        """End the command and forget the terminal. Raises HostMissing."""
        terminal = self._get(id)
        del self._open[id]
        await terminal.end()

    async def kill_all(self) -> None:
        """End every command, within the graces, cancelled or not; the terminals stay until they are released."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for terminal in self._open.values():
                    tasks.start_soon(terminal.end)

    def _check_free(self) -> None:
        if self._closed:
            raise HostRefused("The session is over")
        if len(self._open) >= MAX_TERMINALS:
            raise HostRefused(TOO_MANY_TERMINALS.format(MAX_TERMINALS), "Release some.")

    def _get(self, id: str) -> _Terminal:
        if id not in self._open:
            raise HostMissing(f"Unknown terminal {id[:100]!r}; it may have been released")
        return self._open[id]


class _Terminal:
    def __init__(
        self,
        process: ProcessTree,
        pipe: PipeReader,
        tail: Tail,
        report: Callable[[str, ExitStatus | None], None],
        graces: Graces,
    ) -> None:
        self._process, self._pipe, self._tail, self._report, self._graces = process, pipe, tail, report, graces
        self.ended = anyio.Event()
        self._attending = anyio.CancelScope(shield=True)

    @property
    def exit(self) -> ExitStatus | None:
        return _exit(self._process.returncode) if self.ended.is_set() else None

    @property
    def output(self) -> TerminalOutput:
        return TerminalOutput(self._tail.text, self._tail.truncated, self.exit)

    async def attend(self) -> None:
        """Read the output to the end and kill what the command left behind, despite cancellation before that."""
        drained = anyio.Event()
        try:
            with self._attending:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._read, drained)
                    await self._process.wait()
                    await self._drain(drained)
                    self._process.kill()
                    await self._drain(drained)
                    tasks.cancel_scope.cancel()
        finally:
            if self._process.returncode is None:
                self._process.kill()
            self._pipe.close()
            self._process.release()
            self.ended.set()
            self._report(self._tail.feed(b"", final=True), self.exit)

    async def end(self) -> None:
        with anyio.CancelScope(shield=True):
            for end, seconds in ((self._process.terminate, self._graces.term), (self._process.kill, self._graces.kill)):
                if not self.ended.is_set():
                    end()
                    with anyio.move_on_after(seconds):
                        await self.ended.wait()
        self._attending.cancel()

    async def _read(self, drained: anyio.Event) -> None:
        while data := await self._pipe.receive():
            if text := self._tail.feed(data):
                self._report(text, None)
            await anyio.sleep(PAUSE_SECONDS)
        drained.set()

    async def _drain(self, drained: anyio.Event) -> None:
        with anyio.move_on_after(self._graces.linger):
            await drained.wait()


def _exit(returncode: int | None) -> ExitStatus:
    if returncode is None or returncode >= 0:
        return ExitStatus(code=returncode)
    return ExitStatus(signal=signal_name(returncode))


async def _start(command: TerminalCommand, sandbox: Sandbox | None) -> tuple[ProcessTree, PipeReader]:
    """The process, and the reading end of the pipe for its output. Raises OSError, ValueError."""
    argv, env = command.argv, environment(command)
    if sandbox:
        argv, env = sandbox.command(argv, command.cwd, env), sandbox.environment(env)
    reading, writing = os.pipe()
    try:
        process = await start(argv, (subprocess.DEVNULL, writing, writing), cwd=command.cwd, env=env)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return process, PipeReader(reading)


class Tail:
    """The last `limit` bytes of text, in whole characters; invalid UTF-8 is replaced first."""

    def __init__(self, limit: int) -> None:
        self.limit, self.truncated = limit, False
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def text(self) -> str:
        return self._kept.decode()

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Add a piece, cut anywhere, and return the text that it completed; `final` ends an incomplete character."""
        text = self._decoder.decode(data, final)
        self._kept += text.encode()
        start = len(self._kept) - self.limit
        if start > 0:
            self.truncated = True
            while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
                start += 1
            del self._kept[:start]
        return text
