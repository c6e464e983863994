"""Pipes that nobody reads: whoever does not read costs nobody else anything, and nothing grows without bound."""

import os
from asyncio.selector_events import _SelectorSocketTransport
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from copilot_kernel.acp.locate import locate
from copilot_kernel.agentd import hub
from copilot_kernel.agentd.hub import MAX_UNSENT_BYTES, NOT_READING
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.agentd.server import Server
from copilot_kernel.config import Settings

from .brokers import LIMIT, until
from .wires import Json, OneThreadAgent, Wire, joined, prompt, serving

LARGE = "x" * (MAX_UNSENT_BYTES + 1)


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
    await until(lambda: server.is_full)
    with anyio.fail_after(LIMIT):
        await agent.write(*(update("0", "x" * 100_000) for _ in range(50)), update("0", "the end"))
        agent.reads.set()
        await seen(left, "the end")
        request = await agent.take("session/prompt")
        await agent.write({"id": request["id"], "result": {"stopReason": "end_turn"}})
        while (await right.receive()).get("id") != 3:
            pass
    assert not server.is_full


async def test_a_notebook_that_is_closed_is_noticed_while_the_agent_does_not_read(
    spec: AgentSpec,
    runtime: Path,
    agent: OneThreadAgent,
    server: Server,
    left: Wire,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "LOOK_SECONDS", 0.02)
    async with opened(spec, runtime, agent, "1") as right:
        agent.reads = anyio.Event()
        await left.send(3, "session/prompt", sessionId="0", prompt=prompt(LARGE))
        await until(lambda: server.is_full)
        await right.send(3, "session/prompt", sessionId="1", prompt=[])
        await right.transport.send(b'{"jsonrpc":"2.0","method":"_copilot_kernel/retire"}\n')
    await until(lambda: len(server.clients) == 1)
    assert server.broker.retiring
    agent.reads.set()
    with anyio.fail_after(LIMIT):
        assert (await agent.take("session/cancel"))["params"] == {"sessionId": "1"}


async def test_whoever_comes_while_the_agent_does_not_read_waits_too(
    spec: AgentSpec, runtime: Path, agent: OneThreadAgent, server: Server, left: Wire
) -> None:
    agent.reads = anyio.Event()
    await left.send(3, "session/prompt", sessionId="0", prompt=prompt(LARGE))
    await until(lambda: server.is_full)
    before = server.unsent_bytes
    async with joined(spec, runtime) as late, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(late.send, 3, "session/list", cwd="x" * 3_000_000))
        with anyio.move_on_after(0.2):
            await until(lambda: server.unsent_bytes > before)
        assert server.unsent_bytes == before
        agent.reads.set()


async def test_an_agent_that_only_asks_and_never_reads_is_ended(
    agent: OneThreadAgent, left: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_OWED_BYTES", 100_000)
    agent.reads = anyio.Event()
    questions = ({"id": n, "method": "fs/read_text_file", "params": {"sessionId": "gone"}} for n in range(2_000))
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(agent.write, *questions))
            while (message := await left.receive()).get("method") != "_copilot_kernel/exited":
                pass
            tasks.cancel_scope.cancel()
    assert message["params"]["ending"] == NOT_READING


async def test_lines_that_wait_for_a_notebook_are_handed_over_in_few_pieces(
    agent: OneThreadAgent, server: Server, left: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python 3.12 on, asyncio counts all pieces that wait with each of them."""
    counted = list[int]()
    count = _SelectorSocketTransport.get_write_buffer_size
    monkeypatch.setattr(
        _SelectorSocketTransport, "get_write_buffer_size", lambda self: (counted.append(1), count(self))[1]
    )
    counted.clear()
    with anyio.fail_after(LIMIT):
        await agent.write(*(update("0", str(number)) for number in range(40_000)))
        (connection,) = server.clients
        await until(lambda: connection.unread > 1_000_000)
        before = len(counted)
        found = [(await left.receive())["params"]["text"] for _ in range(40_000)]
    assert found == [str(number) for number in range(40_000)]
    assert connection.unread == 0
    assert (before < 5_000, len(counted) < 6_000) == (True, True)


async def test_one_who_does_not_read_is_disconnected_and_the_others_get_everything(
    agent: OneThreadAgent, server: Server, left: Wire, right: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_UNREAD_BYTES", 4_000_000)
    monkeypatch.setattr(hub, "ITS_SHARE", 500_000)
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
