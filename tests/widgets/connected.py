"""A front end in memory that is connected to the widgets."""

from collections.abc import Iterator
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from ipywidgets import Widget

from .front_end import FrontEnd


def connected(monkeypatch: pytest.MonkeyPatch, front_end: FrontEnd | None = None) -> Iterator[FrontEnd]:
    """Make a fixture of it: the widgets talk to this front end as long as the test runs."""
    front_end = front_end or FrontEnd()

    class Comm(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            front_end.receive(msg_type, self.comm_id, data)

    monkeypatch.setattr(comm, "create_comm", Comm)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: front_end.manager)
    yield front_end
    Widget.close_all()
