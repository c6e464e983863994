"""What a kernel hands to the broker that it starts, and what the broker passes on to every kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..mcp_config import McpServer
from ..sandbox import Held, Sandbox, Sweep


class SandboxState(Struct, frozen=True):
    """The agent's `Sandbox`, as JSON can hold it."""

    prefix: tuple[str, ...]
    entry: tuple[str, ...]
    held: dict[str, Any]
    record: str

    @classmethod
    def of(cls, sandbox: Sandbox) -> SandboxState:
        record = str(sandbox.record.path) if sandbox.record else ""
        return cls(sandbox.prefix, sandbox.entry, sandbox.sweep.held.to_builtins(), record)

    def sandbox(self) -> Sandbox:
        """One for another process, which reports by itself what was created inside. Raises ValueError."""
        return Sandbox(self.prefix, Sweep(Held.from_builtins(self.held)), self.entry)

    def close(self) -> list[str]:
        """When the agent has ended: what was created inside and not reported to a kernel, as lines. Raises OSError."""
        findings = self.sandbox().sweep.last_findings()
        if self.record:  # which this process has kept locked, since it has inherited it
            Path(self.record).unlink(missing_ok=True)
        return list(map(str, findings))


class Welcome(Struct, frozen=True):
    """Whether the agent is in a sandbox; if not, why, should the settings ask for one."""

    sandbox: SandboxState | None = None
    unsandboxed: str = ""


class StartSpec(Struct, frozen=True):
    """The agent's command and folder; its environment is the broker's own. `folder` is deleted when it has ended.

    `servers` are those that are started; Copilot gets them by a flag. `idle` is in seconds.
    """

    argv: tuple[str, ...]
    cwd: str
    socket: str = ""
    folder: str = ""
    welcome: Welcome = Welcome()
    idle: float = 0.0
    label: str = ""
    is_copilot: bool = False
    servers: tuple[McpServer, ...] = ()
    answer_form: str = "nested"


def dump(value: Struct) -> bytes:
    """As JSON in ASCII, since paths and arguments may hold bytes that are no text."""
    return json.dumps(msgspec.to_builtins(value)).encode("ascii")


def load_start(text: bytes) -> StartSpec:
    """Raises ValueError."""
    return msgspec.convert(json.loads(text), StartSpec)


def load_welcome(params: Any) -> Welcome:
    """Raises ValueError."""
    return msgspec.convert(params, Welcome)
