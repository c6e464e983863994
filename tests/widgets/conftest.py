"""A front end in memory for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from ipywidgets import Widget

from .front_end import FrontEnd


@pytest.fixture
def front_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[FrontEnd]:
    front_end = FrontEnd()

    class Comm(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            front_end.receive(msg_type, self.comm_id, data)

    monkeypatch.setattr(comm, "create_comm", Comm)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: front_end.manager)
    yield front_end
    Widget.close_all()
