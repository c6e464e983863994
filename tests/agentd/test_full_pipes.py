"""Pipes that nobody reads: whoever does not read costs nobody else anything, and nothing grows without bound."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from copilot_kernel.acp.locate import locate
from copilot_kernel.agentd import hub as hub_module
from copilot_kernel.agentd.hub import NOT_READING, Hub, LocalTransport
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.agentd.server import Server
from copilot_kernel.agentd.start import Welcome
from copilot_kernel.agentd.wire import HELLO, notification
from copilot_kernel.config import Settings

from .brokers import LIMIT
from .wires import Json, OneThreadAgent, Wire, joined, prompt, serving

LARGE = "x" * (4_000_000)


@pytest.fixture
def spec(tmp_path: Path) -> AgentSpec:
    return AgentSpec(Settings(cwd=str(tmp_path)), locate("demo", os.environ), (), frozenset(), {})


@pytest.fixture
def agent() -> OneThreadAgent:
    agent = OneThreadAgent()
    agent.reads.set()
    return agent


@pytest.fixture
async def server(spec: AgentSpec, runtime: Path, agent: OneThreadAgent) -> AsyncIterator[Server]:
    async with serving(spec, runtime, agent) as server:
        yield server


def update(session: str, text: str) -> Json:
    return {"method": "session/update", "params": {"sessionId": session, "text": text}}


@asynccontextmanager
async def opened(spec: AgentSpec, runtime: Path, agent: OneThreadAgent, session: str) -> AsyncIterator[Wire]:
    """A kernel with this session."""
    async with joined(spec, runtime) as kernel:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.begin, session)
            assert await kernel.opened() == session
        yield kernel


@pytest.fixture
async def left(spec: AgentSpec, runtime: Path, agent: OneThreadAgent, server: Server) -> AsyncIterator[Wire]:
    async with opened(spec, runtime, agent, "0") as kernel:
        yield kernel


@pytest.fixture
async def right(spec: AgentSpec, runtime: Path, agent: OneThreadAgent, left: Wire) -> AsyncIterator[Wire]:
    async with opened(spec, runtime, agent, "1") as kernel:
        yield kernel


async def seen(kernel: Wire, text: str) -> None:
    with anyio.fail_after(LIMIT):
        while (await kernel.receive()).get("params", {}).get("text") != text:
            pass


async def test_an_agent_that_does_not_read_while_it_writes_is_read_to_the_end(
    agent: OneThreadAgent, server: Server, left: Wire, right: Wire
) -> None:
    """As it replays a conversation to one notebook while another sends an image."""
    agent.reads = anyio.Event()
    await right.send(3, "session/prompt", sessionId="1", prompt=prompt(LARGE))
    with anyio.fail_after(LIMIT):
        await agent.write(*(update("0", "x" * 100_000) for _ in range(50)), update("0", "the end"))
        agent.reads.set()
        await seen(left, "the end")
        request = await agent.take("session/prompt")
        await agent.write({"id": request["id"], "result": {"stopReason": "end_turn"}})
        while (await right.receive()).get("id") != 3:
            pass


async def test_an_agent_that_only_asks_and_never_reads_is_ended(
    agent: OneThreadAgent, left: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_UNSENT_BYTES", 100_000)
    agent.reads = anyio.Event()
    questions = ({"id": n, "method": "fs/read_text_file", "params": {"sessionId": "gone"}} for n in range(2_000))
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(agent.write, *questions))
            while (message := await left.receive()).get("method") != "_copilot_kernel/exited":
                pass
            tasks.cancel_scope.cancel()
    assert message["params"]["ending"] == NOT_READING


async def test_one_who_does_not_read_is_disconnected_and_the_others_get_everything(
    agent: OneThreadAgent, server: Server, left: Wire, right: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_UNREAD_BYTES", 4_000_000)
    monkeypatch.setattr(hub_module, "ITS_SHARE", 500_000)
    await left.send(3, "session/prompt", sessionId="0", prompt=[])
    with anyio.fail_after(LIMIT):
        await agent.take("session/prompt")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(seen, right, "the end")
            for number in range(100):
                await agent.write(update("0", "x" * 100_000), update("1", str(number)))
                assert server.unread < 5_000_000
            await agent.write(update("1", "the end"))
        assert (await agent.take("session/cancel"))["params"] == {"sessionId": "0"}
    assert [each.unread for each in server.clients] == [0]


async def test_a_conversation_of_the_same_process_that_is_slow_holds_up_the_agent_and_gets_everything(
    agent: OneThreadAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "ITS_SHARE", 200_000)
    with agent.pipe:
        async with anyio.create_task_group() as tasks:
            hub = Hub(agent, Welcome(), 60, waits_for_kernels=True)
            tasks.start_soon(hub.run)
            kernel = Wire(LocalTransport(hub))
            await kernel.transport.send(notification(HELLO, {}))
            tasks.start_soon(agent.begin, "0")
            assert await kernel.opened() == "0"
            tasks.start_soon(
                partial(agent.write, *(update("0", "x" * 100_000) for _ in range(50)), update("0", "the end"))
            )
            await anyio.wait_all_tasks_blocked()
            assert 200_000 < hub.unread < 400_000
            await seen(kernel, "the end")
            hub.end("the test is over")
