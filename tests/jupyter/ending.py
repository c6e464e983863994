"""How a kernel is interrupted, and how it comes to its end."""

import signal

from ..agent.command import COMMAND
from .front_end import FrontEnd

CANCELLED = ("Cancelled", "Stopped.")
"""The error of a cell that was interrupted."""
DEMO = " ".join(COMMAND)
STUBBORN = f"sh -c 'trap : TERM; {DEMO}; while :; do sleep 1; done'"
"""An agent that goes on when it is asked to end."""


def by_request(front_end: FrontEnd) -> None:
    """Heard by the kernel when this returns."""
    assert front_end.control("interrupt_request")["status"] == "ok"


def by_signal(front_end: FrontEnd) -> None:
    front_end.process.send_signal(signal.SIGINT)


def by_shutdown(front_end: FrontEnd) -> None:
    assert front_end.control("shutdown_request", {"restart": False})["status"] == "ok"


def by_termination(front_end: FrontEnd) -> None:
    front_end.process.send_signal(signal.SIGTERM)


def by_kill(front_end: FrontEnd) -> None:
    front_end.process.send_signal(signal.SIGKILL)
