"""Ports of loopback for servers that tests start."""

from __future__ import annotations

import random
import socket
from collections.abc import Generator
from contextlib import suppress

import pytest
from jupyter_client.connect import LocalPortCache

CHOICE = range(20_000, 32_000)
"""Below those that the system hands out: another program that asks for any port is not given one of these."""


def free_port() -> int:
    """A port that nobody uses now."""
    while True:
        port = random.choice(CHOICE)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@pytest.fixture(scope="session", autouse=True)
def ports_of_kernels() -> Generator[None]:
    """Of kernels that a test starts itself: none that the system may hand out before the kernel binds them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalPortCache, "find_available_port", lambda self, ip: free_port())
        yield
