"""Which notebooks may share an agent: those for which it would be started in exactly the same way. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from .. import __version__
from ..acp.locate import Launch
from ..config import Settings
from ..mcp_config import McpServer

DIGEST_CHARS = 20
_OF_ONE_KERNEL = ("JPY_", "KERNEL_")
"""Prefixes of variables that differ between the kernels of one server."""


@dataclass(frozen=True)
class AgentSpec:
    """All that an agent is started with. `launch` holds the deny rules as flags, `offers` what we serve to it."""

    settings: Settings
    launch: Launch
    servers: tuple[McpServer, ...]
    offers: frozenset[str]
    environ: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Whoever has the same one may share. Rules are not in it: they stay in the kernels."""
        settings = self.settings
        parts = (
            __version__,
            sys.executable,
            self.launch.argv,
            settings.folder,
            [(each.name, each.type, each.command, each.args, each.env) for each in self.servers],
            sorted(self.offers),
            (settings.fs, settings.terminal, settings.answer_form),
            (settings.sandbox, settings.sandbox_read, settings.sandbox_write, settings.state, settings.absent),
            sorted(self.environ.items()),
        )
        return sha256(json.dumps(parts).encode()).hexdigest()[:DIGEST_CHARS]


def shared_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what belongs to one kernel, such as the path of its notebook."""
    return {name: value for name, value in environ.items() if not name.startswith(_OF_ONE_KERNEL)}
