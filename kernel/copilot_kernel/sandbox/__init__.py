"""A sandbox around the agent's process tree: what it can do, whatever it may do (bubblewrap and `srt`)."""

from .held import Finding, Held, Kind
from .leftovers import Record
from .probe import SandboxUnavailable
from .sandbox import WITHOUT, Sandbox, raise_sandbox, summary, unavailable
from .srt import SOCKETS
from .sweep import Sweep
from .watch import watch

__all__ = [
    "SOCKETS",
    "WITHOUT",
    "Finding",
    "Held",
    "Kind",
    "Record",
    "Sandbox",
    "SandboxUnavailable",
    "Sweep",
    "raise_sandbox",
    "summary",
    "unavailable",
    "watch",
]
