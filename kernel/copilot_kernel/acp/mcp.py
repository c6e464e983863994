"""Pass the MCP servers of the settings to an agent (spec: session-setup, MCP servers).

Every agent gets the specification's list. GitHub Copilot CLI silently drops the servers that it would have to start
(stdio): it gets those by a flag of its own, in a file that only the user can read, since command lines are public.
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

MAY_BE_THE_CAUSE = "An MCP server that fails or hangs may be the cause ({})."
RENAMED = "MCP: the server {} of your settings is passed on as {}: the notebook's own tools have its name."
SETTING = "mcp_servers (COPILOT_KERNEL_MCP_SERVERS)"


@dataclass(frozen=True, slots=True)
class McpOffer:
    """Servers for `mcpServers`, for Copilot's own flag, and those that the agent cannot take, with the reason."""

    sent: tuple[McpServer, ...] = ()
    flagged: tuple[McpServer, ...] = ()
    unsent: tuple[tuple[McpServer, str], ...] = ()

    @property
    def servers(self) -> list[Json]:
        """The value of `mcpServers`."""
        return [compose_server(server) for server in self.sent]

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the user."""
        names = ", ".join(server.name for server in self.flagged)
        notes = [
            RENAMED.format(each.renamed_from, each.name) for each in (*self.sent, *self.flagged) if each.renamed_from
        ]
        notes += [f"MCP: {names} passed by Copilot's flag --additional-mcp-config."] if names else []
        return (*notes, *(f"MCP: {server.name} was not passed on: {why}." for server, why in self.unsent))

    @property
    def blame(self) -> str:
        """Advice for the error of a session that does not start; empty if no server was passed."""
        names = ", ".join(server.name for server in (*self.sent, *self.flagged))
        return f"{MAY_BE_THE_CAUSE.format(names)} See {SETTING}." if names else ""


def select_servers(servers: Sequence[McpServer], info: AgentInfo, launch: Launch) -> McpOffer:
    """Sort `servers` by how this agent takes them (spec: mcpCapabilities); all but Copilot take stdio."""
    sent, flagged, unsent = [], [], []
    for server in servers:
        if server.type != "stdio" and server.type not in info.mcp:
            unsent.append((server, f"{info.title or info.name or 'the agent'} does not support {server.type} servers"))
        elif server.type != "stdio" or not (launch.is_copilot or info.is_copilot):
            sent.append(server)
        elif _takes_flag(launch):
            flagged.append(server)
        else:
            unsent.append((server, "Copilot takes stdio servers only by a flag when the kernel starts it"))
    return McpOffer(tuple(sent), tuple(flagged), tuple(unsent))


@contextmanager
def with_mcp_flag(launch: Launch, servers: Sequence[McpServer], folder: Path | None = None) -> Iterator[Launch]:
    """Add Copilot's own flag for the servers that it would drop; the file, in `folder`, is deleted at the exit.

    Run the agent inside, since it may read the file again.
    """
    ours = [server for server in servers if server.type == "stdio"]
    if not (ours and _takes_flag(launch)):
        yield launch
        return
    descriptor, path = tempfile.mkstemp(prefix="copilot-kernel-mcp-", suffix=".json", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"mcpServers": {server.name: _for_copilot(server) for server in ours}}, file)
        yield replace(launch, argv=(*launch.argv, "--additional-mcp-config", f"@{path}"))
    finally:
        Path(path).unlink(missing_ok=True)


def compose_server(server: McpServer) -> Json:
    """The specification's form: no type for stdio, pairs as objects of name and value."""
    if server.type == "stdio":
        return {"name": server.name, "command": server.command, "args": [*server.args], "env": _objects(server.env)}
    return {"type": server.type, "name": server.name, "url": server.url, "headers": _objects(server.headers)}


def _takes_flag(launch: Launch) -> bool:
    return launch.is_copilot and bool(launch.argv)


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
