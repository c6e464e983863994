"""The kernel's process: ipykernel's, without what only a kernel that runs the user's Python needs."""

from __future__ import annotations

import os
from typing import Any

import zmq
from ipykernel.kernelapp import IPKernelApp, kernel_aliases

from .kernel import CopilotKernel

CONTROL_LIMIT = 2.0
"""Seconds that the control thread may take to send what it still has to say."""


class CopilotKernelApp(IPKernelApp):
    """Launched with `-f {connection_file}`."""

    name = "copilot-kernel"

    def __init__(self, **options: Any) -> None:
        # Only a cell speaks in a cell: what a library prints goes to the server's terminal.
        options = {"kernel_class": CopilotKernel, "outstream_class": None, **options}
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self.aliases = {**kernel_aliases, "agent": "CopilotKernel.agent"}

    def start(self) -> None:
        """Run until the end; then let the control thread finish, before exit handlers close the sockets it uses."""
        super().start()  # type: ignore[no-untyped-call]
        control = self.control_thread
        if control is not None and control.is_alive():
            control.stop()
            control.join(CONTROL_LIMIT)

    def _bind_socket(self, s: Any, port: int) -> Any:
        """End at once if this fails: what ipykernel does at its exit would wait for ever for other sockets."""
        try:
            return super()._bind_socket(s, port)  # type: ignore[no-untyped-call]
        except zmq.ZMQError as error:
            self.log.critical("Port %s cannot be used: %s", port, error)
            os._exit(1)

    def init_heartbeat(self) -> None:
        """Start the heartbeat here: a failure in its own thread would go unnoticed."""
        with zmq.Context() as context, context.socket(zmq.ROUTER) as probe:
            self._bind_socket(probe, self.hb_port)
        super().init_heartbeat()  # type: ignore[no-untyped-call]

    def init_path(self) -> None:
        """The notebook's folder stays out of `sys.path`: a file there must not become one of our modules."""

    def init_pdb(self) -> None:
        """No debugger."""

    def init_poller(self) -> None:
        """Watch the parent as `lifetime.py` describes."""
