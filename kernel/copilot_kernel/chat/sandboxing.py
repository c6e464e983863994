"""Start the agent in the sandbox that the settings ask for, or say why it has none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread

from ..acp.locate import Launch
from ..acp.messages import Block, TextBlock
from ..config import SANDBOXED, Settings
from ..errors import AgentStartFailed
from ..mcp_config import McpServer
from ..rendering.plain import visible_line
from ..sandbox import SOCKETS, Sandbox, SandboxUnavailable, listed, raise_sandbox
from .rules import protected
from .slash import has_slash

REQUIRED = "The agent was not started: a sandbox is required (COPILOT_KERNEL_SANDBOX). {}"
UNSANDBOXED = "The agent runs without a sandbox: {}. {}"
READ_ONLY = "[Copilot Kernel] You run in a sandbox. Git is read-only here: propose commits, do not make them."
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
        yield await make_sandbox(settings, launch, servers, Path(folder), opened)


async def make_sandbox(
    settings: Settings, launch: Launch, servers: Sequence[McpServer], folder: Path, ports: Sequence[int] = ()
) -> tuple[Sandbox | None, str]:
    """What `sandboxed` yields, with `folder` for files that can be read inside.

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


async def compared(sandbox: Sandbox | None) -> list[str]:
    """What became of the protected files since the last time, as lines for the user."""
    if sandbox is None:
        return []
    with anyio.CancelScope(shield=True):
        found = await to_thread.run_sync(sandbox.comparison.compare)
    return [visible_line(kind.value.format(listed(names))) for kind, names in found.items()]


class SandboxNote:
    """Tells the agent once in each session what it cannot do in its sandbox."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def introduction(self, sandbox: Sandbox | None, blocks: Sequence[Block], session: str) -> tuple[Block, ...]:
        """What goes with this prompt to `session`, unless that is a command of the agent's."""
        if sandbox is None or session in self._told or has_slash(blocks):
            return ()
        self._told.add(session)
        return (TextBlock(READ_ONLY),)


def in_sandbox(launch: Launch, sandbox: Sandbox | None, cwd: str) -> Launch:
    """`launch`, to be started inside."""
    if sandbox is None:
        return launch
    return replace(launch, prefix=sandbox.command((), cwd), environ=sandbox.environment())
