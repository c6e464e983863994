"""No test touches what the user has saved, or waits for an agent that shall be started again."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.acp.transport import PipeTransport
from copilot_kernel.chat import Chat, open_chat
from copilot_kernel.chat.retry import Retry
from copilot_kernel.config import Settings
from copilot_kernel.notebook.live import LiveNotebook

from ..acp.scripted import accepting
from ..agent.agent import serve
from ..agent.faults import read_switches

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
def project(tmp_path: Path) -> Path:
    """The folder that the agent works in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(tmp_path: Path, project: Path) -> Settings:
    return Settings(agent="demo", cwd=str(project), cancel_grace=2.0, state=str(tmp_path / "state"))


@pytest.fixture
async def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[str]:
    """The demo agent, in this process: each connection finds one, with the switches of that moment."""
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path / "demo"))

    async def serve_one(transport: PipeTransport) -> None:
        await serve(transport, read_switches(os.environ.get("COPILOT_KERNEL_DEMO", "")))

    async with accepting(serve_one) as address:
        yield "tcp://{}:{}".format(*address)


@pytest.fixture
def opened(settings: Settings, time: Time, demo: str, monkeypatch: pytest.MonkeyPatch) -> Open:
    """`opened(notebook, **settings)` is a chat with the demo agent: what a kernel has, from its start to its end.

    With `agent="demo"`, the agent is a process. The `switches` stay until they are set again.
    """

    @asynccontextmanager
    async def opened(
        notebook: str = "",
        place: str = "",
        switches: str = "",
        live: LiveNotebook | None = None,
        **more: object,
    ) -> AsyncIterator[Chat]:
        if switches:
            monkeypatch.setenv("COPILOT_KERNEL_DEMO", switches)
        chosen = replace(settings, **{"agent": demo, **more})
        async with open_chat(chosen, notebook, Retry(time.sleep, time.clock), place=place, live=live) as chat:
            yield chat

    return opened


@pytest.fixture
async def chat(request: pytest.FixtureRequest, opened: Open) -> AsyncIterator[Chat]:
    """With what `chatting` says."""
    async with opened(**getattr(request, "param", {})) as chat:
        yield chat


def chatting(**more: object) -> pytest.MarkDecorator:
    """The `chat` of this test is `opened` with these arguments."""
    return pytest.mark.parametrize("chat", [more], ids=[" ".join(more)], indirect=True)
