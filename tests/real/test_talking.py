"""The chat over the WebSocket with a real agent: a session, an answer in pieces, and a tool that waits for a yes."""

import asyncio
import json
import os
import shlex
from pathlib import Path

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from ..limits import LIMIT
from . import model
from .agents import Agent
from .test_api import TOKEN, Json, _serving
from .test_listening import _free_port

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


async def _heard(socket: WebSocketClientConnection, last: str) -> list[Json]:
    """The frames up to one of the type `last`. A question that comes is answered with yes."""
    frames: list[Json] = []
    while not frames or frames[-1]["type"] != last:
        text = await asyncio.wait_for(socket.read_message(), LIMIT)
        assert text is not None, f"the server hung up after {frames}"
        frames.append(json.loads(text))
        if frames[-1].get("event") == "tool_approval_request":
            answer = {"action": "approve_tool", "call_id": frames[-1]["call_id"], "response": "yes"}
            await socket.write_message(json.dumps(answer))
    return frames


async def _talk(agent: Agent, port: int, made: Path) -> Json:
    url = f"ws://127.0.0.1:{port}/copilot/chat/ws"
    socket = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {TOKEN}"}))
    findings: Json = {}

    async def say(text: str) -> list[Json]:
        await socket.write_message(json.dumps({"action": "send", "text": text}))
        return await _heard(socket, "done")

    await socket.write_message(json.dumps({"action": "new_session"}))
    findings["begun"] = await _heard(socket, "session_created")
    findings["answer"] = await say(model.prompt({"say": "An answer that comes in several pieces."}))
    shell = agent.shell(f"echo counted; touch {shlex.quote(str(made))}")
    findings["tool"] = await say(model.prompt({"call": [shell]}, {"say": "It ran."}))
    findings["made"] = made.exists()
    socket.close()
    return findings


def play(agent: Agent) -> Json:
    port = _free_port()
    made = Path(os.environ["HOME"]) / "made-by-the-agent"
    with model.running() as scripted, _serving(agent, port, scripted):
        findings = asyncio.run(_talk(agent, port, made))
    return findings


# -- tests ----------------------------------------------------------------------------------------------------


def events(frames: list[Json], name: str) -> list[Json]:
    return [frame for frame in frames if frame.get("event") == name]


def answer(frames: list[Json]) -> str:
    return "".join(frame["content"] for frame in frames if frame["type"] == "delta")


def test_a_session_begins(socket_frames: Json) -> None:
    assert socket_frames["begun"][-1]["session_id"]


def test_an_answer_comes_as_deltas_and_ends(socket_frames: Json) -> None:
    frames = socket_frames["answer"]
    assert answer(frames) == "An answer that comes in several pieces."
    assert frames[-1]["stop_reason"] == "end_turn"


def test_a_tool_runs_when_it_was_approved(socket_frames: Json) -> None:
    frames = socket_frames["tool"]
    (asked,), (resolved,) = events(frames, "tool_approval_request"), events(frames, "approval_resolved")
    (started,), (ended,) = events(frames, "tool_start"), events(frames, "tool_done")
    assert "touch" in asked["arguments"]
    assert resolved["approved"] is True
    assert {each["call_id"] for each in (asked, resolved, started, ended)} == {asked["call_id"]}
    assert (ended["status"], "counted" in ended["result"], socket_frames["made"]) == ("completed", True, True)
    assert answer(frames).endswith("It ran.")
    assert frames[-1]["type"] == "done"
