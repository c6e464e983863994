"""Order of messages: only cells wait for one another, everything else is answered while a cell runs.

ipykernel 7.4.0 lets comm messages pass a running cell, but publishes neither busy nor idle for them, and restores a
parent that may be the next cell's by then, whose idle then never comes. Here each such message is dispatched in a
context of its own, with busy and idle, and nothing is restored. Leaves what a cell does to `kernel.py`.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from inspect import signature
from typing import Any

from ipykernel._version import kernel_protocol_version
from ipykernel.kernelbase import Kernel

from ..output.cell import Message, Request, message_type
from .comms import Comms

# What is overridden or called below, and is no public interface of ipykernel: the leading parameters that it must take.
_INTERNALS = {
    "shell_main": ("self", "subshell_id", "msg"),
    "dispatch_shell": ("self", "msg", "subshell_id"),
    "execute_request": ("self", "stream", "ident", "parent"),
    "interrupt_request": ("self", "stream", "ident", "parent"),
    "_publish_status": ("self", "status", "channel", "parent"),
}


def changed_internals(base: type = Kernel) -> tuple[str, ...]:
    """The names of those internals that `base` has no longer, or has with other parameters."""
    return tuple(name for name, wanted in _INTERNALS.items() if _parameters(base, name)[: len(wanted)] != wanted)


def _parameters(base: type, name: str) -> tuple[str, ...]:
    method = getattr(base, name, None)
    return tuple(signature(method).parameters) if callable(method) else ()


class ConcurrentKernel(Kernel):
    """A kernel that listens while a cell runs. `running` is the cell's request, None between cells."""

    session: Any
    io_loop: Any
    comm_manager: Comms
    running: Request | None = None

    def __init__(self, **options: Any) -> None:
        self.changed_internals = changed_internals()
        # With what it does not know, such as IPython's namespace, traitlets warns, which may count as an error.
        super().__init__(**{name: options[name] for name in options if self.has_trait(name)})  # type: ignore[no-untyped-call]
        if not isinstance(getattr(self, "_shell_parent", None), ContextVar):  # see `MessageChannel.owning`
            self.changed_internals += ("_shell_parent",)
        for name in self.changed_internals:
            self.log.error("ipykernel has changed %s: widgets do not work while a cell runs", name)

    @property
    def widgets_work(self) -> bool:
        """A click arrives while a cell runs. Where it does not, questions must be asked with `input_request`."""
        return not self.changed_internals

    def interrupt(self, at: float | None = None) -> None:
        """Cancel what the running cell does; called on the kernel's loop, also when nothing runs.

        `at` is when the user asked for it (`time.monotonic()`).
        """
        raise NotImplementedError

    async def shell_main(self, subshell_id: str | None, msg: Any) -> None:
        """Every shell message comes through here."""
        # None may be ipykernel's own note to itself that ends the abortion of queued cells.
        if not self.widgets_work or message_type(self.session, msg) in ("execute_request", None):
            await super().shell_main(subshell_id, msg)
        else:
            # In a task, that is in a copy of the context: the cell's parent stays the cell's.
            await asyncio.create_task(self.dispatch_shell(msg, subshell_id=subshell_id))
            # Else a front end would take the kernel for free, after the idle of that message.
            if self.running is not None:
                self._publish_status("busy", "shell", parent=self.running.parent)  # type: ignore[no-untyped-call]

    async def execute_request(self, stream: Any, ident: Any, parent: Message) -> None:
        """Remember whose turn it is: the context's parent is no help to tasks that outlive a cell."""
        self.running = Request(ident, parent)
        try:
            await super().execute_request(stream, ident, parent)  # type: ignore[no-untyped-call]
        finally:
            self.running = None

    async def interrupt_request(self, stream: Any, ident: Any, parent: Message) -> None:
        """Runs in the control thread."""
        self.io_loop.asyncio_loop.call_soon_threadsafe(self.interrupt, time.monotonic())
        self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    def pre_handler_hook(self) -> None:
        """ipykernel would let SIGINT raise KeyboardInterrupt here, out of the event loop; see `lifetime.py`."""

    def post_handler_hook(self) -> None:
        """Restore the state; see `pre_handler_hook`."""

    @property
    def kernel_info(self) -> Message:
        """Return the info without "kernel subshells" (clicks would be handled in other threads) and "debugger".

        ipykernel's own imports debugpy, which takes long and writes warnings.
        """
        return {
            "protocol_version": kernel_protocol_version,
            "implementation": self.implementation,
            "implementation_version": self.implementation_version,
            "language_info": self.language_info,
            "banner": self.banner,
            "help_links": self.help_links,
            "supported_features": [],
        }

    async def create_subshell_request(self, socket: Any, ident: Any, parent: Message) -> None:
        """Refuse, for clients that ask although the feature is not supported."""
        refusal = {"status": "error", "evalue": "This kernel has no subshells: it answers while a cell runs."}
        self.session.send(socket, "create_subshell_reply", refusal, parent, ident)
