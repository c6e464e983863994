"""Widgets without a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from ipywidgets import Widget

from .asked import Models, guard


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    models = Models()

    class Comm(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            models.receive(msg_type, self.comm_id, data)

    monkeypatch.setattr(comm, "create_comm", Comm)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: models.manager)
    guard(monkeypatch, 0)
    yield models
    Widget.close_all()
