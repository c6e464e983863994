"""Ports of loopback for servers that tests start."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

CHOICE = range(20_000, 32_000)
"""Below those that the system hands out: another program that asks for any port is not given one of these."""


def free_port() -> int:
    """A port that nobody uses now."""
    while True:
        port = random.choice(CHOICE)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
