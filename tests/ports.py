"""Ports of loopback for servers that tests start."""

import os
import random
import socket
from contextlib import suppress

from jupyter_client.connect import LocalPortCache

CHOICE = range(20_000, 32_000)
"""Below those that the system hands out: another program that asks for any port is not given one of these."""
SHARES = 100
"""Of these ports, which processes that run at the same time divide by their ids: between choice and bind lies time."""


_given: set[int] = set()


def free_port() -> int:
    """Return a port that nobody uses now, and none twice before all were given."""
    share = CHOICE[os.getpid() % SHARES :: SHARES]
    while True:
        if _given.issuperset(share):
            _given.clear()
        if (port := random.choice(share)) not in _given:
            _given.add(port)
            with suppress(OSError), socket.create_server(("127.0.0.1", port)):
                return port


def port_of_kernel(cache: LocalPortCache, ip: str) -> int:
    """Instead of any port, which the system may hand out again before the kernel binds it."""
    while (port := free_port()) in cache.currently_used_ports:
        pass
    cache.currently_used_ports.add(port)
    return port


def use_for_kernels() -> None:
    """Choose so in this process, for as long as it runs."""
    LocalPortCache.find_available_port = port_of_kernel
