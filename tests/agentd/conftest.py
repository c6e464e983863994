"""Notebooks that share an agent: a runtime folder of their own, and no broker that outlives the test."""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.chat import Chat, open_chat
from copilot_kernel.config import Settings

from ..sandbox.conftest import bubblewrap
from .brokers import end_brokers

__all__ = ["bubblewrap"]


Open = Callable[..., AbstractAsyncContextManager[Chat]]
"""Opens a conversation of another notebook, with more settings."""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Jupyter's, with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="ck-") as folder:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", folder)
        yield Path(folder)
        end_brokers(Path(folder))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "project"
    folder.mkdir()
    return Settings(
        agent="demo", cwd=str(folder), cancel_grace=2.0, state=str(tmp_path / "state"), agent_sharing="user"
    )


@pytest.fixture
def opened(settings: Settings, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """`opened(notebook, **settings)` is what one kernel has, in this process."""
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path / "demo"))

    @asynccontextmanager
    async def opened(notebook: str = "", **more: object) -> AsyncIterator[Chat]:
        async with open_chat(replace(settings, **more), notebook) as chat:  # type: ignore[arg-type]
            yield chat

    return opened
