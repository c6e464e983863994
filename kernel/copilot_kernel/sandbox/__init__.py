"""A sandbox around the agent's process tree: what it can do, whatever it may do (bubblewrap and `srt`)."""

from .probe import SandboxUnavailable
from .protected import Comparison, Kind
from .sandbox import Sandbox, create_sandbox, listed, summary, unavailable
from .srt import SOCKETS

__all__ = [
    "SOCKETS",
    "Comparison",
    "Kind",
    "Sandbox",
    "SandboxUnavailable",
    "create_sandbox",
    "listed",
    "summary",
    "unavailable",
]
