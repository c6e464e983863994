"""Values that a kernel hands to the broker it starts, and that the broker passes on to every kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ..mcp_config import McpServer
from ..sandbox import Comparison, Sandbox

T = TypeVar("T")


class Welcome(Struct, frozen=True):
    """Greeting of a broker: is the agent in a sandbox, and if not, why, if settings ask for one."""

    sandbox: Sandbox | None = None
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


def dump(value: Struct) -> Any:
    """Return `value` in the types of JSON. Of a sandbox, that is what was protected when it was made."""
    return msgspec.to_builtins(value, enc_hook=_dump)


def restore(value: Any, kind: type[T]) -> T:
    """What `dump` has made of a value of this kind; the sandbox then compares by itself. Raises ValueError."""
    return msgspec.convert(value, kind, dec_hook=_restore)


def _dump(value: Any) -> Any:
    return [str(value.project), dict(value.states)] if isinstance(value, Comparison) else str(value)


def _restore(kind: type, value: Any) -> Any:
    return Comparison(Path(value[0]), value[1]) if kind is Comparison else kind(value)
