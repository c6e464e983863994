"""How an agent is told of the MCP servers of the settings (spec: session-setup, MCP servers).

What is sent is always the specification's list. GitHub Copilot CLI silently drops the servers that it would have to
start (stdio): it gets those by a flag of its own, in a file that only the user can read, since a command line is for
all to see.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..mcp_config import McpServer, Pairs
from .locate import Launch
from .messages import AgentInfo, Json

SETTING = "mcp_servers (COPILOT_KERNEL_MCP_SERVERS)"


@dataclass(frozen=True, slots=True)
class Offered:
    """What an agent is told: the servers of `mcpServers`, those of its own flag, and those that it cannot have."""

    sent: tuple[McpServer, ...] = ()
    flagged: tuple[McpServer, ...] = ()
    unsent: tuple[tuple[McpServer, str], ...] = ()

    @property
    def servers(self) -> list[Json]:
        """The value of `mcpServers`."""
        return [compose_server(server) for server in self.sent]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, a line each."""
        names = ", ".join(server.name for server in self.flagged)
        notes = [f"MCP: {server.name} is not passed on: {why}." for server, why in self.unsent]
        return (*([f"MCP: {names} by Copilot's own flag --additional-mcp-config."] if names else []), *notes)

    @property
    def blame(self) -> str:
        """For the error of a session that does not begin: what may be to blame. Nothing if no server was passed."""
        names = ", ".join(server.name for server in (*self.sent, *self.flagged))
        return f"An MCP server that fails or hangs may be the cause; passed were: {names}. See {SETTING}." * bool(names)


def offer(servers: Sequence[McpServer], info: AgentInfo, launch: Launch) -> Offered:
    """What of `servers` this agent can take (spec: mcpCapabilities); stdio is the baseline, but not for Copilot."""
    sent, flagged, unsent = [], [], []
    for server in servers:
        if server.type != "stdio" and server.type not in info.mcp:
            unsent.append((server, f"{_called(info)} does not take servers of type {server.type}"))
        elif server.type != "stdio" or not _is_copilot(info, launch):
            sent.append(server)
        elif _takes_flag(launch):
            flagged.append(server)
        else:
            unsent.append((server, "Copilot takes a server that it has to start only by a flag, when it starts itself"))
    return Offered(tuple(sent), tuple(flagged), tuple(unsent))


@contextmanager
def flagged(launch: Launch, servers: Sequence[McpServer]) -> Iterator[Launch]:
    """`launch` with Copilot's own flag for the servers that it would drop; the file is gone at the exit.

    The agent is to run inside, for it may read the file again.
    """
    ours = [server for server in servers if server.type == "stdio"]
    if not (ours and _takes_flag(launch)):
        yield launch
        return
    descriptor, path = tempfile.mkstemp(prefix="copilot-kernel-mcp-", suffix=".json")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"mcpServers": {server.name: _for_copilot(server) for server in ours}}, file)
        yield replace(launch, argv=(*launch.argv, "--additional-mcp-config", f"@{path}"))
    finally:
        Path(path).unlink(missing_ok=True)


def compose_server(server: McpServer) -> Json:
    """A server as the specification has it: no type for stdio, pairs as objects of name and value."""
    if server.type == "stdio":
        return {"name": server.name, "command": server.command, "args": [*server.args], "env": _objects(server.env)}
    return {"type": server.type, "name": server.name, "url": server.url, "headers": _objects(server.headers)}


def _is_copilot(info: AgentInfo, launch: Launch) -> bool:
    return launch.is_copilot or info.is_copilot


def _takes_flag(launch: Launch) -> bool:
    return launch.is_copilot and bool(launch.argv)


def _called(info: AgentInfo) -> str:
    return info.title or info.name or "the agent"


def _for_copilot(server: McpServer) -> Json:
    return {
        "type": "local",
        "command": server.command,
        "args": [*server.args],
        "env": dict(server.env),
        "tools": ["*"],
    }


def _objects(pairs: Pairs) -> list[Json]:
    return [{"name": name, "value": value} for name, value in pairs]
