"""When the agent starts before the first prompt, which prompts it serves, and when it ends again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentStartFailed
from copilot_kernel.prompts.kernel_session import KernelSession
from copilot_kernel.prompts.warm_start import START_AFTER_SECONDS, UNUSED_SECONDS, WarmStart

from ..limits import LIMIT, settled
from ..output.recording import RecordingCell


class StandIn:
    """A chat that notes what becomes of it; `failure` is what its start raises."""

    made: list[StandIn]
    failure: Exception | None
    pause: asyncio.Event | None

    def __init__(self, settings: Settings, notebook: str, **_: Any) -> None:
        self.settings, self.notebook = settings, notebook
        self.events, self.state, self.trust = list[str](), ConversationState(), SimpleNamespace()
        self.made.append(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.events.append("closed")

    async def prepare(self) -> None:
        self.events.append("started")
        if self.pause is not None:
            await self.pause.wait()
        if self.failure is not None:
            raise self.failure


class Clock:
    """Time that passes when the test says so, and then lets everything run that can."""

    def __init__(self) -> None:
        self.now, self.alarms = 0.0, list[tuple[float, asyncio.Event]]()

    async def sleep(self, seconds: float) -> None:
        self.alarms.append((self.now + seconds, alarm := asyncio.Event()))
        await alarm.wait()

    async def advance(self, seconds: float) -> None:
        await settled()
        self.now += seconds
        for at, alarm in self.alarms:
            if at <= self.now:
                alarm.set()
        await settled()


class Kernel:
    """A kernel's session and its warm start."""

    def __init__(self) -> None:
        self.clock, self.session = Clock(), KernelSession()
        self.warm_start = WarmStart(self.session, self.clock.sleep)

    async def rest(self) -> None:
        """Be idle for so long that the agent starts."""
        self.warm_start.schedule()
        await self.clock.advance(START_AFTER_SECONDS)

    async def use(self, *, live: bool = True) -> StandIn:
        """The chat that a prompt of a cell gets."""
        self.session._watched = RecordingCell(live=live).live

        async def work(chat: Any) -> StandIn:
            return chat

        return await asyncio.wait_for(self.session.runner.do(work), LIMIT)


@pytest.fixture
async def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Kernel]:
    StandIn.made, StandIn.failure, StandIn.pause = [], None, None
    monkeypatch.setattr("copilot_kernel.chat.open_chat", StandIn)
    for name in ("JUPYTER_CONFIG_DIR", "COPILOT_KERNEL_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "demo")
    kernel = Kernel()
    yield kernel
    kernel.warm_start.cancel()
    await kernel.session.runner.close()


async def test_the_agent_starts_when_the_kernel_was_idle_and_the_first_prompt_gets_it(kernel: Kernel) -> None:
    kernel.warm_start.schedule()
    await kernel.clock.advance(START_AFTER_SECONDS / 2)
    assert StandIn.made == []
    kernel.warm_start.schedule()
    await kernel.clock.advance(START_AFTER_SECONDS / 2)
    assert [chat.events for chat in StandIn.made] == [["started"]]
    assert (kernel.session.runner.chat, kernel.session.notices.lines) == (None, [])
    assert [await kernel.use(), await kernel.use()] == StandIn.made * 2


async def test_copilot_starts_by_whatever_path_it_is_named(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "copilot").touch(0o755)
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", str(tmp_path / "copilot"))
    await kernel.rest()
    assert [chat.events for chat in StandIn.made] == [["started"]]


async def test_it_does_not_start_if_a_chat_is_open(kernel: Kernel) -> None:
    used = await kernel.use()
    await kernel.rest()
    assert (StandIn.made, used.events) == ([used], [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WARM_START", "off"),
        ("SANDBOX", "on"),
        ("AGENT", "no-such-folder/copilot"),
        ("AGENT", "an 'open quote"),
        ("AGENT", sys.executable),
        ("AGENT", "tcp://127.0.0.1:1"),
    ],
)
async def test_it_starts_only_an_installed_agent_that_leaves_the_folder_alone(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"COPILOT_KERNEL_{name}", value)
    await kernel.rest()
    assert (StandIn.made, kernel.session.notices.lines) == ([], [])


async def test_a_start_that_fails_is_left_to_the_first_prompt(kernel: Kernel) -> None:
    StandIn.failure = AgentStartFailed("it ended")
    await kernel.rest()
    assert kernel.session.notices.lines == []
    assert await kernel.use() is StandIn.made[0]


@pytest.mark.parametrize("live", [True, False])
async def test_a_prompt_that_comes_during_the_start_gets_the_same_chat(kernel: Kernel, live: bool) -> None:
    StandIn.pause = asyncio.Event()
    await kernel.rest()
    assert [await kernel.use(live=live)] == StandIn.made


@pytest.mark.parametrize("by_command", [False, True])
async def test_settings_that_have_changed_since_get_another_chat(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, by_command: bool
) -> None:
    await kernel.rest()
    if by_command:
        context = kernel.session.command_context
        context.settings = replace(context.settings, deny=("Bash(curl *)",))
    else:
        monkeypatch.setenv("COPILOT_KERNEL_DENY", '["Bash(curl *)"]')
    used = await kernel.use()
    assert (StandIn.made[0].events, used.settings.deny) == (["started", "closed"], ("Bash(curl *)",))


async def test_a_batch_run_does_not_get_the_chat_of_a_notebook(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "book.ipynb").touch()
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "book.ipynb"))
    await kernel.rest()
    assert (await kernel.use(live=False)).notebook == ""
    assert [(chat.notebook, chat.events) for chat in StandIn.made[:1]] == [
        (str(tmp_path / "book.ipynb"), ["started", "closed"])
    ]


async def test_it_ends_after_a_time_without_a_prompt_and_the_next_one_starts_it_again(kernel: Kernel) -> None:
    await kernel.rest()
    await kernel.clock.advance(UNUSED_SECONDS)
    assert StandIn.made[0].events == ["started", "closed"]
    assert (await kernel.use(), len(StandIn.made)) == (StandIn.made[1], 2)


async def test_it_does_not_end_after_a_prompt(kernel: Kernel) -> None:
    await kernel.rest()
    used = await kernel.use()
    await kernel.clock.advance(UNUSED_SECONDS)
    assert (used.events, await kernel.use()) == (["started"], used)


@pytest.mark.parametrize(
    "seconds", [START_AFTER_SECONDS / 2, START_AFTER_SECONDS], ids=["before the start", "during the start"]
)
async def test_the_end_of_the_kernel_ends_it(kernel: Kernel, seconds: float) -> None:
    StandIn.pause = asyncio.Event()
    kernel.warm_start.schedule()
    await kernel.clock.advance(seconds)
    kernel.warm_start.cancel()
    await kernel.session.runner.close()
    await kernel.clock.advance(START_AFTER_SECONDS)
    assert [chat.events for chat in StandIn.made] == [["started", "closed"]] * (seconds == START_AFTER_SECONDS)


PROGRAM = """
import sys
from pathlib import Path
from tests.prompts.session import session
from copilot_kernel.acp.agent_connection import Session
from copilot_kernel.prompts import warm_start
warm_start.import_needed()
before, prompt = set(sys.modules), Session.prompt
def note(self, blocks):
    print(*(name for name in set(sys.modules) - before if name.startswith("copilot_")))
    return prompt(self, blocks)
Session.prompt = note
with session(Path(sys.argv[1])) as kernel:
    kernel.run("demo: say Hello")
"""


def test_the_first_prompt_imports_nothing_more_before_it_is_sent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout.split() == []
