"""Whole turns with agents on the official Python and TypeScript SDKs, each a process; one script for both."""

import os
import shutil
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest
from copilot_kernel.acp.agent_connection import connect_agent
from copilot_kernel.acp.handlers import ClientHandlers
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.messages import (
    AudioBlock,
    Chunk,
    Diff,
    EmbeddedResource,
    ImageBlock,
    PermissionOption,
    PlanEntry,
    PlanUpdate,
    ResourceLink,
    TextBlock,
    ToolCallUpdate,
)
from copilot_kernel.errors import AgentRefused

from ..limits import LIMIT

AGENTS = Path(__file__).parent / "agents"
START = ["initialize", "session/new"]


def node():
    program = shutil.which("node")
    if program is None:
        reason = "Node is not installed (20 or newer; apt-get install nodejs)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return program


@pytest.fixture
def typescript(typescript_sdk):
    return Launch(
        (node(), str(AGENTS / "typescript_agent.mjs"), str(typescript_sdk)), label="TypeScript", environ=os.environ
    )


@pytest.fixture(params=["python", "typescript"])
def peer(request):
    if request.param == "typescript":
        return request.getfixturevalue("typescript")
    return Launch((sys.executable, str(AGENTS / "python_agent.py")), label="Python", environ=os.environ)


class Client:
    """Gathers the updates without their raw JSON; answers with the option of this id, None is `cancelled`."""

    def __init__(self, answer):
        self.answer = answer
        self.events = []
        self.diagnostics = []
        self.asked = anyio.Event()

    def update(self, session_id, update):
        assert session_id == "s1"
        self.events.append(update)

    async def permission(self, request):
        self.events.append(request.tool_call.id)
        assert request.options == (
            PermissionOption("yes", "Allow", "allow_once"),
            PermissionOption("no", "Reject", "reject_once"),
        )
        self.asked.set()
        if self.answer == "never":
            await anyio.sleep_forever()
        return next((option for option in request.options if option.id == self.answer), None)

    async def until(self, event):
        with anyio.fail_after(LIMIT):
            while event not in self.events:
                await anyio.sleep(0.01)


@asynccontextmanager
async def opened(peer, cwd, answer="yes"):
    client = Client(answer)
    client_handlers = ClientHandlers(client.update, client.permission, diagnose=client.diagnostics.append)
    async with connect_agent(peer, str(cwd), client_handlers, start_timeout=20) as link:
        session = await link.new(str(cwd))
        assert (session.connection.info.name, session.connection.info.protocol_version, session.state.id) == (
            "scripted",
            1,
            "s1",
        )
        await client.until(said(f"in {cwd}"))
        client.events.clear()
        yield session, client
    assert client.diagnostics == []
    assert psutil.Process().children(recursive=True) == []


def said(text):
    return Chunk("agent", TextBlock(text))


WORK = [
    said("Hello, " + "é" * 100_000),
    Chunk("thought", TextBlock("hm")),
    PlanUpdate((PlanEntry("look", "medium", "completed"), PlanEntry("write", "medium", "pending"))),
    ToolCallUpdate("t1", begins=True, title="Write it", kind="edit", raw_input={"path": "/a"}),
    "t1",
]
ENDS = [
    ("yes", [ToolCallUpdate("t1", status="completed", content=(Diff("/a", "old", "new"),))], "end_turn"),
    ("no", [ToolCallUpdate("t1", status="failed")], "refusal"),
    ("none", [], "cancelled"),
]


BLOCKS = [
    TextBlock("work"),
    TextBlock("é\u2028\ud83d\ude00\x00"),
    ImageBlock("aGk=", "image/png", "file:///a.png"),
    AudioBlock("aGk=", "audio/wav"),
    ResourceLink("file:///a", "a", title="A", size=3),
    EmbeddedResource("file:///b", text="b", mime_type="text/plain"),
    EmbeddedResource("file:///c", blob="aGk="),
]


@pytest.mark.parametrize(("answer", "rest", "stop_reason"), ENDS)
async def test_a_turn_with_everything_in_it(peer, tmp_path, referee, answer, rest, stop_reason):
    async with opened(peer, tmp_path, answer) as (session, client):
        assert (await session.prompt(BLOCKS)).stop_reason == stop_reason
        assert client.events == WORK + rest
        assert referee(session.connection.log.lines) == [*START, "session/prompt", "= session/request_permission"]


async def test_a_turn_is_cancelled_or_fails_and_the_next_one_works(peer, tmp_path, referee):
    async with opened(peer, tmp_path) as (session, client):
        stops = []

        async def wait():
            stops.append((await session.prompt([TextBlock("wait")])).stop_reason)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await client.until(said("waiting"))
            session.cancel()
        assert stops == ["cancelled"]
        with pytest.raises(AgentRefused, match="no such word") as caught:
            await session.prompt([TextBlock("unheard of")])
        assert (caught.value.method, caught.value.code) == ("session/prompt", -32602)
        assert (await session.prompt([TextBlock("work")])).stop_reason == "end_turn"
        turn = ["session/prompt", "= session/request_permission"]
        assert referee(session.connection.log.lines) == [
            *START,
            "session/prompt",
            "session/cancel",
            "session/prompt",
            *turn,
        ]


async def test_a_question_that_the_agent_withdraws_is_closed_and_answered(typescript, tmp_path, referee):
    async with opened(typescript, tmp_path, "never") as (session, client):
        assert (await session.prompt([TextBlock("withdraw")])).stop_reason == "end_turn"
        assert client.asked.is_set()
        assert client.events == ["t1", said("withdrawn: -32800")]
        assert referee(session.connection.log.lines) == [*START, "session/prompt", "! session/request_permission"]
