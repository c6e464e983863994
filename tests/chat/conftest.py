"""No test touches what the user has saved, or waits for an agent that shall be started again."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.chat import Chat
from copilot_kernel.chat.retry import Retry
from copilot_kernel.config import Settings

Open = Callable[..., AbstractAsyncContextManager[Chat]]


class Time:
    """A clock that only `sleep` moves, and that remembers how long it slept."""

    def __init__(self) -> None:
        self.now, self.naps = 1000.0, list[float]()

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "project"
    folder.mkdir()
    return Settings(agent="demo", cwd=str(folder), cancel_grace=2.0, state=str(tmp_path / "state"))


@pytest.fixture
def opened(settings: Settings, time: Time, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Open:
    """`opened(notebook, **settings)` is a chat: what a kernel has, from its start to its end."""
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path / "demo"))

    @asynccontextmanager
    async def opened(notebook: str = "", place: str = "", **more: object) -> AsyncIterator[Chat]:
        chosen = replace(settings, **more)  # type: ignore[arg-type]
        async with Chat(chosen, notebook, Retry(time.sleep, time.clock), place=place) as chat:
            yield chat

    return opened


@pytest.fixture
def free_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
