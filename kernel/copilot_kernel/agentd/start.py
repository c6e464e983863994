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
    project: str
    git_folder: str | None
    paths: dict[str, str]
    points: tuple[str, ...]
    handover: str
    absent: tuple[str, ...]
    unsearched: tuple[str, ...]

    @classmethod
    def of(cls, sandbox: Sandbox) -> SandboxState:
        held = sandbox.sweep.held
        git_folder = None if held.git_folder is None else str(held.git_folder)
        paths = {str(path): link for path, link in held.paths.items()}
        lists = tuple(map(str, held.absent)), tuple(map(str, held.unsearched))
        place = str(held.project), git_folder, paths, held.points, str(held.handover)
        return cls(sandbox.prefix, sandbox.entry, *place, *lists)

    def sandbox(self) -> Sandbox:
        """One for another process, which reports by itself what was created inside."""
        paths = {Path(path): link for path, link in self.paths.items()}
        git_folder = None if self.git_folder is None else Path(self.git_folder)
        lists = tuple(map(Path, self.absent)), tuple(map(Path, self.unsearched))
        held = Held(Path(self.project), git_folder, paths, self.points, Path(self.handover), *lists)
        return Sandbox(self.prefix, Sweep(held), self.entry)


class Welcome(Struct, frozen=True):
    """Whether the agent is in a sandbox; if not, why, should the settings ask for one."""

    sandbox: SandboxState | None = None
    unsandboxed: str = ""


class StartSpec(Struct, frozen=True):
    """The agent's command and folder; its environment is the broker's own. `folder` is deleted when it has ended.

    `servers` are those that Copilot gets by a flag. `idle` is in seconds.
    """

    argv: tuple[str, ...]
    cwd: str
    socket: str
    folder: str
    welcome: Welcome
    idle: float
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
