"""Values that a kernel hands to the broker it starts, and that the broker passes on to every kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..mcp_config import McpServer
from ..sandbox import Comparison, Sandbox


class SandboxState(Struct, frozen=True):
    """The agent's `Sandbox`, as JSON can hold it, with what was protected when it was made."""

    prefix: tuple[str, ...]
    handover: str
    project: str
    protected: dict[str, str]
    summary: str
    outer: dict[str, str] | None

    @classmethod
    def of(cls, sandbox: Sandbox) -> SandboxState:
        comparison, outer = sandbox.comparison, None if sandbox.outer is None else dict(sandbox.outer)
        protected = dict(comparison.states)
        return cls(sandbox.prefix, str(sandbox.handover), str(comparison.project), protected, sandbox.summary, outer)

    def sandbox(self) -> Sandbox:
        """One for another process, which compares by itself."""
        comparison = Comparison(Path(self.project), self.protected)
        return Sandbox(self.prefix, Path(self.handover), comparison, self.summary, self.outer)


class Welcome(Struct, frozen=True):
    """Greeting of a broker: is the agent in a sandbox, and if not, why, if settings ask for one."""

    sandbox: SandboxState | None = None
    unsandboxed: str = ""

    @classmethod
    def of(cls, sandbox: Sandbox | None, unsandboxed: str) -> Welcome:
        return cls(None if sandbox is None else SandboxState.of(sandbox), unsandboxed)


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
    """Return JSON in ASCII, since paths and arguments may hold bytes that are no text."""
    return json.dumps(msgspec.to_builtins(value)).encode("ascii")


def load_start(text: bytes) -> StartSpec:
    """Raises ValueError."""
    return msgspec.convert(json.loads(text), StartSpec)


def load_welcome(params: Any) -> Welcome:
    """Raises ValueError."""
    return msgspec.convert(params, Welcome)
