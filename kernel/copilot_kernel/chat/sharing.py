"""Connect to an agent that several notebooks of the user share, where the settings ask for it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from ..acp.agent_errors import SLOW
from ..acp.handlers import ClientHandlers
from ..acp.locate import Launch
from ..agentd import client
from ..agentd.client import BrokerTransport, shared_agent
from ..agentd.key import AgentSpec, shared_environment
from ..config import Settings
from ..errors import AgentStartFailed
from ..mcp_config import McpServer
from .sandboxing import make_sandbox


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
    with anyio.CancelScope(deadline=anyio.current_time() + settings.start_timeout) as limit:
        async with opening as transport:
            limit.deadline = float("inf")
            yield transport
    if limit.cancelled_caught:
        raise AgentStartFailed(f"{launch.label} did not answer within {settings.start_timeout:g} s", SLOW)
