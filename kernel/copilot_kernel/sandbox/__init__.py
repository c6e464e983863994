"""A sandbox around the agent's process tree: what it can do, whatever it may do (bubblewrap and `srt`)."""

from .comparison import Comparison, Kind
from .probe import SandboxUnavailable
from .sandbox import Sandbox, listed, raise_sandbox, summary, unavailable
from .srt import SOCKETS

__all__ = [
    "SOCKETS",
    "Comparison",
    "Kind",
    "Sandbox",
    "SandboxUnavailable",
    "listed",
    "raise_sandbox",
    "summary",
    "unavailable",
]
