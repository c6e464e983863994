"""A sandbox around the agent's process tree: what it can do, whatever it may do (bubblewrap and `srt`)."""

from .probe import SandboxUnavailable
from .sandbox import WITHOUT, Sandbox, raise_sandbox, summary, unavailable
from .srt import SOCKETS
from .sweep import Finding, Held, Kind, Sweep

__all__ = [
    "SOCKETS",
    "WITHOUT",
    "Finding",
    "Held",
    "Kind",
    "Sandbox",
    "SandboxUnavailable",
    "Sweep",
    "raise_sandbox",
    "summary",
    "unavailable",
]
