"""Widgets without a kernel."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ..chat.conftest import demo, opened, project, settings, time
from ..widgets.connected import connected
from .asked import Models

__all__ = ["demo", "opened", "project", "settings", "time"]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    with contextmanager(connected)(monkeypatch, Models()) as front_end:
        yield front_end
