"""Comms and ipywidgets in a kernel that is not IPython; ipywidgets is imported when the first widget is wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import comm
from comm.base_comm import BaseComm, CommManager

from ..output.cell import Message
from ..rendering.plain import encodable


class KernelComm(BaseComm):
    """One end of a comm; `kernel` is ipykernel's `Kernel`."""

    def __init__(self, kernel: Any, *args: Any, **options: Any) -> None:
        self._kernel = kernel
        super().__init__(*args, **options)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Send on iopub. May be called from any thread."""
        kernel = self._kernel
        kernel.session.send(
            kernel.iopub_socket,
            msg_type,
            encodable({"data": data or {}, "comm_id": self.comm_id, **keys}),
            metadata=encodable(metadata or {}),
            parent=kernel.get_parent("shell"),
            ident=self.topic,
            buffers=buffers,
        )


class Comms(CommManager):
    """The kernel's open comms. `widgets_seen`: a front end has shown that it has the widgets extension."""

    def __init__(self) -> None:
        super().__init__()
        self.widgets_seen = self.undrawn = False
        self.register_target("jupyter.widget", partial(_to_widget_class, "handle_comm_opened"))
        self.register_target("jupyter.widget.control", self._control_opened)

    async def known(self) -> None:
        """The front end says by itself that it has widgets."""

    def get_comm(self, comm_id: str) -> BaseComm | None:
        """The comm, or None without a word in the log: front ends send to widgets that we have just closed."""
        return self.comms.get(comm_id)

    def comm_close(self, stream: Any, ident: Any, msg: Message) -> None:
        """A front end closes what a front end opened. What we opened stays: a page without widgets, such as Notebook
        7's list of files, refuses it, while another page shows it. Comms that decide for themselves have
        `hears_refusal`.
        """
        found = self.comms.get(msg["content"]["comm_id"])
        if found is not None and (not found.primary or getattr(found, "hears_refusal", False)):
            super().comm_close(stream, ident, msg)

    def _control_opened(self, opened: BaseComm, message: Message) -> None:
        self.widgets_seen = True
        _to_widget_class("handle_control_comm_opened", opened, message)


def install(kernel: Any) -> Comms:
    """Give `kernel` comms. Importing `ipykernel.ipkernel` installs ipykernel's own: call this afterwards."""
    comms = Comms()
    comm.create_comm = partial(KernelComm, kernel)
    comm.get_comm_manager = lambda: comms
    kernel.comm_manager = comms
    handlers: dict[str, Callable[..., None]] = {
        "comm_open": comms.comm_open,
        "comm_msg": comms.comm_msg,
        "comm_close": comms.comm_close,
    }
    kernel.shell_handlers.update(handlers)
    return comms


def _to_widget_class(method: str, opened: BaseComm, message: Message) -> None:
    from ipywidgets import Widget  # type: ignore[attr-defined]

    getattr(Widget, method)(opened, message)
