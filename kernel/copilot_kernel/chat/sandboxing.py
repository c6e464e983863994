"""Start the agent in the sandbox that the settings ask for, or say why it has none."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import anyio
from anyio import to_thread

from ..acp.locate import Launch
from ..config import SANDBOXED, Settings
from ..conversation.model import ToolCall
from ..errors import AgentStartFailed
from ..mcp_config import McpServer
from ..permissions import inputs
from ..permissions.request import CHANGING
from ..permissions.shell import CommandLine, parse_line
from ..rendering.plain import visible_line
from ..sandbox import SOCKETS, WITHOUT, Sandbox, SandboxUnavailable, raise_sandbox, watch
from .rules import protected

_log = logging.getLogger(__name__)
REFUSED = "The sandbox refuses "
_GIT_READERS = frozenset({"get", "list", "-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch"})
_GIT_WRITERS = frozenset(
    {"set", "unset", "edit", "--add", "--unset", "--unset-all", "--replace-all", "-e", "--edit"}
    | {"rename-section", "remove-section", "--rename-section", "--remove-section"}
)
_ASSIGNMENTS = re.compile(r"^(?:\w+=\S*\s+)+")
_CHANGES_ALL = frozenset({"chmod", "mv", "rm", "rmdir", "tee", "touch", "truncate"})
_CHANGES_LAST = frozenset({"cp", "install", "ln"})

MAX_SWEPT, MAX_NAMED = 10, 4
UNSWEPT = "It is not known which protected files were created in the sandbox ({})."
REQUIRED = "The agent was not started: a sandbox is required (COPILOT_KERNEL_SANDBOX). {}"
UNSANDBOXED = "The agent runs without a sandbox: {}. {}"
RENEWED = "The agent was started again: its sandbox no longer protected {}, replaced outside."
UNRENEWED = (
    "The sandbox no longer protects {}, replaced outside, and other conversations use this agent: "
    "the next one that is started protects it again."
)
ELSEWHERE = SandboxUnavailable(
    "it was not started by this kernel but runs elsewhere", "Sandbox it where it is started."
)


async def no_ports() -> tuple[int, ...]:
    """The agent needs nothing on loopback."""
    return ()


@asynccontextmanager
async def sandboxed(
    settings: Settings,
    launch: Launch,
    servers: Sequence[McpServer],
    ports: Callable[[], Awaitable[Sequence[int]]] = no_ports,
) -> AsyncIterator[tuple[Sandbox | None, str]]:
    """A sandbox that works, or None, and then why there is none although the settings ask for one, for the user.

    The agent and the `servers` that it starts can run inside, and reach the `ports` of loopback; end it before the
    exit. Raises AgentStartFailed if a sandbox is required and there can be none.
    """
    if settings.sandbox == "off":
        yield None, ""
        return
    is_filtered = settings.sandbox_hosts is not None
    with TemporaryDirectory(prefix="copilot-kernel-", dir=SOCKETS if is_filtered else None) as folder:
        opened = await ports() if is_filtered else ()
        sandbox, problem = await make_sandbox(settings, launch, servers, Path(folder), opened)
        try:
            yield sandbox, problem
        finally:
            await _leave(sandbox)


async def make_sandbox(
    settings: Settings, launch: Launch, servers: Sequence[McpServer], folder: Path, ports: Sequence[int] = ()
) -> tuple[Sandbox | None, str]:
    """What `sandboxed` yields, with `folder` for files that can be read inside; close it when the agent has ended.

    Raises AgentStartFailed.
    """
    if settings.sandbox == "off":
        return None, ""
    commands = (launch.argv, *((server.command, *server.args) for server in servers if server.type == "stdio"))
    try:
        if not launch.argv:
            raise ELSEWHERE
        work = partial(raise_sandbox, settings, commands, folder, protected(settings), ports)
        return await to_thread.run_sync(work), ""
    except (SandboxUnavailable, OSError) as error:
        hint = getattr(error, "hint", "")
        if settings.sandbox == "required":
            raise AgentStartFailed(REQUIRED.format(f"{error}."), hint) from error
        unused = " The permission mode is not used." if settings.permission_mode == SANDBOXED else ""
        return None, UNSANDBOXED.format(error, hint).rstrip() + unused


@asynccontextmanager
async def watching(sandbox: Sandbox | None) -> AsyncIterator[None]:
    """Watch Git's folders of the project until the exit."""
    stop, own_thread = Event(), anyio.CapacityLimiter(1)
    async with anyio.create_task_group() as tasks:
        if sandbox:
            tasks.start_soon(partial(to_thread.run_sync, watch, sandbox.sweep, stop, limiter=own_thread))
        try:
            yield
        finally:
            stop.set()


async def _leave(sandbox: Sandbox | None) -> None:
    """Look a last time for what was created inside, when no process is left there."""
    if sandbox:
        with anyio.CancelScope(shield=True), suppress(OSError):
            for finding in await to_thread.run_sync(sandbox.sweep.last_findings):
                _log.warning("%s", finding)
            sandbox.close()


async def swept(sandbox: Sandbox | None) -> list[str]:
    """Remove some of what was created inside although programs outside obey it; lines for the user about all of it."""
    if sandbox is None:
        return []
    with anyio.CancelScope(shield=True):
        try:
            lines = list(map(str, await to_thread.run_sync(sandbox.sweep.findings)))
        except OSError as error:
            lines = [UNSWEPT.format(error)]
    more = len(lines) - MAX_SWEPT
    rest = [f"And {more} more of that kind."] if more > 0 else []
    return [visible_line(line) for line in (*lines[:MAX_SWEPT], *rest)]


async def unheld(sandbox: Sandbox | None) -> str:
    """Names of protected files that are no longer held while the agent runs; empty if all are.

    It must be ended then: until a process has ended, what it has opened stays writable for it.
    """
    if sandbox is None:
        return ""
    try:
        paths = await to_thread.run_sync(sandbox.sweep.replaced)
    except OSError as error:
        return str(error)
    names = [sandbox.sweep.held.name(path) for path in paths]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return visible_line(", ".join(names[:MAX_NAMED]) + more)


def refusal(call: ToolCall, sandbox: Sandbox) -> str:
    """That the sandbox refuses what `call` would do, and how to do it without; empty as far as that can be seen."""
    given = inputs.read(call)
    lines = list(chain.from_iterable(map(_lines, given.commands)))
    edited = given.paths if call.kind in CHANGING else ()
    found = map(sandbox.refuses, (*edited, *chain.from_iterable(map(_written, lines))))
    if why := next(filter(None, found), ""):
        return f"{REFUSED}{why}. {WITHOUT}"
    if any(_changes_git_settings(words) for line in lines for words in line.commands):
        return f"{REFUSED}changes of Git's settings (git config, git remote add). {WITHOUT}"
    return ""


def _lines(text: str) -> Iterator[CommandLine]:
    """A command line, and those that it gives to a shell."""
    yield (line := parse_line(_ASSIGNMENTS.sub("", text)))
    for program, *words in filter(None, line.commands):
        if program.endswith("sh") and words[:1] == ["-c"]:
            yield from map(parse_line, words[1:2])


def _written(line: CommandLine) -> Iterator[str]:
    """Files that a command line writes, moves or deletes, as far as its words say so."""
    yield from (path for _, path in line.writes)
    for program, *words in filter(None, line.commands):
        if program in _CHANGES_ALL:
            yield from words
        elif program in _CHANGES_LAST:
            yield from words[-1:]


def _changes_git_settings(words: Sequence[str]) -> bool:
    """Whether a command is a `git config` or `git remote` that writes."""
    program, *rest = words or ("",)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in ("-C", "-c") else 1]
    if program != "git" or not rest:
        return False
    operands = [word for word in rest[1:] if not word.startswith("-")]
    if rest[0] == "config":
        return not _GIT_WRITERS.isdisjoint(rest) or (len(operands) > 1 and _GIT_READERS.isdisjoint(rest))
    return rest[0] == "remote" and operands[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"])


def in_sandbox(launch: Launch, sandbox: Sandbox | None, cwd: str) -> Launch:
    """`launch`, to be started inside."""
    if sandbox is None:
        return launch
    return replace(launch, prefix=sandbox.command((), cwd), environ=sandbox.environment())
