"""The key of a shared agent: notebooks share one if it would be started in exactly the same way for each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from msgspec import to_builtins

from .. import __version__
from ..acp.locate import Launch
from ..config import SETTINGS, Settings
from ..mcp_config import McpServer
from .start import StartSpec

DIGEST_CHARS = 20


@dataclass(frozen=True)
class AgentSpec:
    """All that an agent is started with. `launch` holds the deny rules as flags, `offers` what we serve to it."""

    settings: Settings
    launch: Launch
    servers: tuple[McpServer, ...]
    offers: frozenset[str]
    environ: Mapping[str, str]

    @cached_property
    def start(self) -> StartSpec:
        """Return what the broker needs to start the agent; it adds its own places, and the sandbox."""
        return StartSpec(
            self.launch.argv,
            os.path.realpath(self.settings.folder),
            label=self.launch.label,
            is_copilot=self.launch.is_copilot,
            servers=self.servers,
            answer_form=self.settings.answer_form,
        )

    @cached_property
    def digest(self) -> str:
        """Whoever has the same one may share. What kernels apply themselves, such as rules, is not in it.

        Inside a sandbox, links on the way to the folder exist, too, so its name counts. Raises OSError.
        """
        folder = os.stat(self.start.cwd)
        told_apart = {name: getattr(self.settings, name) for name, each in SETTINGS.items() if not each.kernel_applies}
        parts = (
            __version__,
            sys.executable,
            to_builtins(self.start),
            (folder.st_dev, folder.st_ino, self.settings.folder if self.settings.sandbox != "off" else ""),
            sorted(self.offers),
            (told_apart, self.settings.absent),
            sorted(self.environ.items()),
        )
        return sha256(json.dumps(parts).encode()).hexdigest()[:DIGEST_CHARS]
