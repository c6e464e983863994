"""Start the agent: alone or shared with other conversations, in the sandbox that the settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread

from ..acp.agent_connection import open_transport, opened_within
from ..acp.child_processes import of_no_kernel
from ..acp.handlers import ClientHandlers
from ..acp.locate import Launch, located, with_denied_tools
from ..acp.mcp import with_mcp_flag
from ..acp.transport import single_error
from ..agentd import client
from ..agentd.client import BrokerTransport, shared_agent
from ..agentd.hub import Hub
from ..agentd.key import AgentSpec
from ..agentd.start import Welcome
from ..config import SANDBOXED, Settings
from ..errors import AgentStartFailed
from ..mcp_config import McpServer
from ..rendering.plain import visible_line
from ..sandbox import SOCKETS, Sandbox, SandboxUnavailable, create_sandbox, listed
from .rules import PolicyEvaluator, protected

REQUIRED = "The agent was not started: a sandbox is required (COPILOT_KERNEL_SANDBOX). {}"
UNSANDBOXED = "The agent runs without a sandbox: {}. {}"
READ_ONLY = "[Copilot Kernel] You run in a sandbox. Git is read-only here: propose commits, do not make them."
NOT_STARTED_HERE = SandboxUnavailable(
    "it was not started by this kernel but runs elsewhere", "Sandbox it where it is started."
)

Connect = Callable[
    [Settings, Launch, Sequence[McpServer], ClientHandlers], AbstractAsyncContextManager[BrokerTransport]
]
"""Connects to an agent that others use as well."""
Ports = Callable[[], Awaitable[Sequence[int]]]
"""Ports of loopback where the agent must reach us."""

# -- the sandbox ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def sandboxed(
    settings: Settings,
    launch: Launch,
    servers: Sequence[McpServer],
    ports: Ports | None = None,
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
        opened = await ports() if is_filtered and ports else ()
        yield await make_sandbox(settings, launch, servers, Path(folder), opened)


async def make_sandbox(
    settings: Settings, launch: Launch, servers: Sequence[McpServer], folder: Path, ports: Sequence[int] = ()
) -> tuple[Sandbox | None, str]:
    """Make the sandbox that `sandboxed` yields, with `folder` for files that can be read inside.

    Raises AgentStartFailed.
    """
    if settings.sandbox == "off":
        return None, ""
    commands = (launch.argv, *((server.command, *server.args) for server in servers if server.type == "stdio"))
    try:
        if not launch.argv:
            raise NOT_STARTED_HERE
        work = partial(create_sandbox, settings, commands, folder, protected(settings), ports)
        return await to_thread.run_sync(work), ""
    except (SandboxUnavailable, OSError) as error:
        hint = getattr(error, "hint", "")
        if settings.sandbox == "required":
            raise AgentStartFailed(REQUIRED.format(f"{error}."), hint) from error
        unused = " The permission mode is not used." if settings.permission_mode == SANDBOXED else ""
        return None, UNSANDBOXED.format(error, hint).rstrip() + unused


async def compared(sandbox: Sandbox | None) -> list[str]:
    """Return changes of the protected files since the last time, as lines for the user."""
    if sandbox is None:
        return []
    with anyio.CancelScope(shield=True):
        found = await to_thread.run_sync(sandbox.comparison.compare)
    return [visible_line(kind.value.format(listed(names))) for kind, names in found.items()]


def in_sandbox(launch: Launch, sandbox: Sandbox | None, cwd: str) -> Launch:
    """`launch`, to be started inside."""
    if sandbox is None:
        return launch
    return replace(launch, prefix=sandbox.command((), cwd, launch.environ), environ=sandbox.environment(launch.environ))


# -- agents that several conversations share -------------------------------------------------------------------------


def shares(settings: Settings, launch: Launch) -> bool:
    """Return True if `launch` can be shared: it is started here, with a network that is no kernel's own.

    From a sandbox with a list of hosts, the agent reaches the notebook's tools of one kernel only.
    """
    return settings.agent_sharing == "user" and bool(launch.argv) and settings.sandbox_hosts is None


@asynccontextmanager
async def shared(
    settings: Settings, launch: Launch, servers: Sequence[McpServer], handlers: ClientHandlers
) -> AsyncIterator[BrokerTransport]:
    """The connection to the agent, which is started if no other notebook did. Raises AgentStartFailed."""
    environ = of_no_kernel(launch.environ)
    started = tuple(server for server in servers if server.type == "stdio")
    spec = AgentSpec(settings, launch, started, handlers.offers, environ)
    opening = shared_agent(
        spec,
        partial(make_sandbox, settings, launch, servers),
        runtime=Path(settings.environment.jupyter.runtime),
        idle=client.IDLE_SECONDS,
    )
    async with opened_within(settings.start_timeout, opening, launch.label) as transport:
        yield transport


async def run_agent(settings: Settings, idle: float, started: Callable[[Hub], None]) -> None:
    """Run an agent for conversations of this process, until it has been idle for `idle` seconds, or ends.

    Raises AgentNotFound and AgentStartFailed, before `started` is called.
    """
    servers = settings.passed_servers
    launch = with_denied_tools(located(settings), PolicyEvaluator(settings).denied_tools())
    async with sandboxed(settings, launch, servers) as (sandbox, unsandboxed):
        with with_mcp_flag(launch, servers, sandbox.handover if sandbox else None) as launch, single_error():
            launch = in_sandbox(launch, sandbox, settings.folder)
            async with open_transport(launch, settings.folder, settings.start_timeout) as agent:
                hub = Hub(agent, Welcome(sandbox, unsandboxed), idle, settings.answer_form, waits_for_kernels=True)
                started(hub)
                await hub.run()
            await hub.disconnect_all()
