"""A server of its own over a real agent: the OpenAI-compatible API, asked by OpenAI's client for Python, and the chat
over the WebSocket.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import openai
import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from ..limits import LIMIT
from ..ports import free_port
from . import model
from .agents import COPILOT, PROJECT, Agent
from .conftest import played
from .model import Model
from .plays import Json, serving

pytestmark = [pytest.mark.real_agent, played("test_server.play", COPILOT)]
TOKEN, CHAT_KEY = "secret", "of the chat"


def play(agent: Agent) -> Json:
    port, home = free_port(), Path(os.environ["HOME"])
    command = [str(Path(sys.executable).with_name("copilot-kernel")), "serve", f"--port={port}"]
    command.append(f"--CopilotApp.chat_key={CHAT_KEY}")
    private = {"JUPYTER_TOKEN": TOKEN, "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    with model.running() as scripted, serving(command, port, {**agent.settings(home, scripted.url), **private}):
        return {"api": _asked(agent, port, scripted), "frames": asyncio.run(_talk(agent, port))}


def _asked(agent: Agent, port: int, scripted: Model) -> Json:
    """What the client got: each answer by name."""
    made = Path(os.environ["HOME"]) / "made-by-the-agent"
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=TOKEN, max_retries=0) as ai:

        def ask(*steps: Json, before: tuple[Json, ...] = (), note: str = "", words: str = "Go on.", **more: Any) -> Any:
            prompt = {"role": "user", "content": agent.prompt(made, *steps, note=note, words=words)}
            return ai.chat.completions.create(model="any", messages=[*before, prompt], **more)  # type: ignore[list-item]

        history = (
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is one and one?"},
            {"role": "assistant", "content": "Two."},
        )
        plain = ask({"say": "Four."}, before=history, words="And two and two?")
        received = [json.dumps(each["content"]) for each in scripted.requests[-1][1]["messages"]]
        stream = ask({"say": "Streamed."}, stream=True)
        found = {
            "plain": {"text": plain.choices[0].message.content, "usage": plain.to_dict().get("usage")},
            "received": received,
            "stream": "".join(chunk.choices[0].delta.content or "" for chunk in stream),
        }
        ask({"call": [("shell", f"touch {PROJECT}")]}, {"say": "Tried."})
        named: dict[str, Any] = {"model": "any", "extra_headers": {"X-Copilot-Session": "b"}}
        command: Any = [{"role": "user", "content": "/allow-all on"}]
        slashes = [ai.chat.completions.create(messages=command, **named).choices[0].message.content for _ in range(2)]
        ask({"call": [("shell", f"touch {PROJECT}")]}, {"say": "Tried."}, extra_headers=named["extra_headers"])
        kept = {"X-Copilot-Session": "a"}
        ask({"say": "Noted."}, note="blue", extra_headers=kept)
        again, alone = ask({"recall": True}, extra_headers=kept), ask({"recall": True})
        recalls = [each.choices[0].message.content for each in (again, alone)]
        return {**found, "made": made.exists(), "recalls": recalls, "slashes": slashes}


async def _talk(agent: Agent, port: int) -> Json:
    """The frames of each exchange by name."""
    url = f"ws://127.0.0.1:{port}/copilot/chat/ws"
    socket = await websocket_connect(HTTPRequest(url, headers={"Authorization": f"token {CHAT_KEY}"}))
    made = Path(os.environ["HOME"]) / "made-by-approval"

    async def say(*steps: Json) -> list[Json]:
        return await _heard(socket, "done", action="send", text=agent.prompt(made, *steps))

    found = {
        "begun": await _heard(socket, "session_created", action="new_session"),
        "answer": await say({"say": "An answer that comes in several pieces."}),
        "tool": await say({"call": [("shell", f"echo counted; touch {PROJECT}")]}, {"say": "It ran."}),
    }
    socket.close()
    return {**found, "made": made.exists()}


async def _heard(socket: WebSocketClientConnection, last: str, **sent: str) -> list[Json]:
    """The frames that answer what is sent, up to one of the type `last`. A question that comes is answered with yes."""
    await socket.write_message(json.dumps(sent))
    frames: list[Json] = []
    while not frames or frames[-1]["type"] != last:
        text = await asyncio.wait_for(socket.read_message(), LIMIT)
        assert text is not None, f"the server hung up after {frames}"
        frames.append(json.loads(text))
        if frames[-1].get("event") == "tool_approval_request":
            answer = {"action": "approve_tool", "call_id": frames[-1]["call_id"], "response": "yes"}
            await socket.write_message(json.dumps(answer))
    return frames


# -- tests ----------------------------------------------------------------------------------------------------


def test_it_answers_plainly_and_as_a_stream(seen: Json) -> None:
    assert (seen["api"]["plain"]["text"], seen["api"]["stream"]) == ("Four.", "Streamed.")


def test_a_message_allows_nothing_though_it_is_a_command_of_the_agent(seen: Json) -> None:
    assert (seen["api"]["slashes"], seen["api"]["made"]) == ([model.NO_SCRIPT] * 2, False)


def test_the_model_gets_all_messages_of_all_roles_in_order_and_marked(seen: Json) -> None:
    (sent,) = [text for text in seen["api"]["received"] if "And two and two?" in text]
    marks = ["<message role=", "system", "Be brief.", "user", "What is one and one?", "assistant", "Two.", "And two"]
    places = [sent.find(mark) for mark in marks]
    assert -1 not in places
    assert sent.find("Be brief.") < sent.find("What is one and one?") < sent.find("Two.") < sent.find("And two and")


def test_a_session_that_is_kept_remembers_and_another_does_not(seen: Json) -> None:
    assert seen["api"]["recalls"] == ["I remember: blue", "I remember: "]


def test_tokens_are_told_as_the_agent_tells_them(seen: Json) -> None:
    usage = seen["api"]["plain"]["usage"]
    assert usage is None or usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 0


def events(frames: list[Json], name: str) -> list[Json]:
    return [frame for frame in frames if frame.get("event") == name]


def answer(frames: list[Json]) -> str:
    return "".join(frame["content"] for frame in frames if frame["type"] == "delta")


def test_an_answer_comes_as_deltas_and_ends(seen: Json) -> None:
    frames = seen["frames"]["answer"]
    assert answer(frames) == "An answer that comes in several pieces."
    assert frames[-1]["stop_reason"] == "end_turn"


def test_a_tool_runs_when_it_was_approved(seen: Json) -> None:
    frames = seen["frames"]["tool"]
    (asked,), (resolved,) = events(frames, "tool_approval_request"), events(frames, "approval_resolved")
    (started,), (ended,) = events(frames, "tool_start"), events(frames, "tool_done")
    assert "touch" in asked["arguments"]
    assert resolved["approved"] is True
    assert {each["call_id"] for each in (asked, resolved, started, ended)} == {asked["call_id"]}
    assert (ended["status"], "counted" in ended["result"], seen["frames"]["made"]) == ("completed", True, True)
    assert answer(frames).endswith("It ran.")
    assert frames[-1]["type"] == "done"
