"""Agents that several conversations share: notebooks, where the settings ask for it, and those of a server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

from ..acp.agent_connection import open_transport, opened_within
from ..acp.handlers import ClientHandlers
from ..acp.locate import Launch, located, with_denied_tools
from ..acp.mcp import with_mcp_flag
from ..acp.transport import single_error
from ..agentd import client
from ..agentd.client import BrokerTransport, shared_agent
from ..agentd.hub import Hub
from ..agentd.key import AgentSpec, shared_environment
from ..agentd.start import Welcome
from ..config import Settings
from ..mcp_config import McpServer
from .rules import PolicyEvaluator
from .sandboxing import in_sandbox, make_sandbox, sandboxed

Connect = Callable[
    [Settings, Launch, Sequence[McpServer], ClientHandlers], AbstractAsyncContextManager[BrokerTransport]
]
"""Connects to an agent that others use as well."""


def shares(settings: Settings, launch: Launch) -> bool:
    """Whether `launch` is an agent to share: one that is started here, with a network that is no kernel's own.

    From a sandbox with a list of hosts, the agent reaches the notebook's tools of one kernel only.
    """
    return settings.agent_sharing == "user" and bool(launch.argv) and settings.sandbox_hosts is None


@asynccontextmanager
async def shared(
    settings: Settings, launch: Launch, servers: Sequence[McpServer], handlers: ClientHandlers
) -> AsyncIterator[BrokerTransport]:
    """The connection to the agent, which is started if no other notebook did. Raises AgentStartFailed."""
    from jupyter_core.paths import jupyter_runtime_dir

    environ = shared_environment(os.environ)
    started = tuple(server for server in servers if server.type == "stdio")
    spec = AgentSpec(settings, launch, started, handlers.offers, environ)
    opening = shared_agent(
        spec,
        partial(make_sandbox, settings, launch, servers),
        runtime=Path(jupyter_runtime_dir()),
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
                hub = Hub(agent, Welcome.of(sandbox, unsandboxed), idle, settings.answer_form, waits_for_kernels=True)
                started(hub)
                await hub.run()
            await hub.disconnect_all()
