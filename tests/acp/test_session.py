"""Sessions over loopback with a scripted agent, and with an agent as a process: start, turns, cancel, end."""

import os
import sys

import anyio
import pytest
from copilot_kernel.acp.agent_connection import NO_SESSION_ID, NOT_READY
from copilot_kernel.acp.agent_errors import OTHER_VERSION, SLOW
from copilot_kernel.acp.locate import RUN_BY, START_THERE, Launch, start_advice
from copilot_kernel.acp.messages import (
    ImageBlock,
    PromptResult,
    TextBlock,
    ToolCallUpdate,
    UnknownUpdate,
)
from copilot_kernel.errors import (
    AgentExited,
    AgentRefused,
    AgentStartFailed,
    ProtocolUnsupported,
)

from ..limits import LIMIT, until
from .scripted import agent_text, listening, opened, refused

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.mark.parametrize(
    ("answer", "words"),
    [({"protocolVersion": 2}, "2"), ({"protocolVersion": "v1"}, "v1"), (None, "none")],
)
async def test_any_other_version_is_refused(answer, words):
    async with listening(initialize=answer) as (script, launch):
        with pytest.raises(ProtocolUnsupported) as caught:
            await refused(launch)
        assert str(caught.value) == OTHER_VERSION.format("the agent", words)
        assert caught.value.hint
        assert [method for method, _ in script.heard] == ["initialize"]


@pytest.mark.parametrize("answer", [None, {"sessionId": ""}])
async def test_a_session_without_a_name_is_no_session(answer):
    async with listening(session_new=answer) as (_, launch):
        with pytest.raises(AgentStartFailed) as caught:
            await refused(launch)
        assert str(caught.value) == f"script {NO_SESSION_ID}"


# -- a turn -------------------------------------------------------------------------------------------------------


async def test_a_turn_sends_the_blocks_and_ends_after_its_updates(referee):
    result = {"stopReason": "max_tokens", "usage": {"totalTokens": 3}}

    async def prompt(script, params):
        await script.say("one")
        await script.update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look"})
        return result

    async with listening(session_prompt=prompt) as (script, launch), opened(launch) as (session, client):
        blocks = [TextBlock("hello"), ImageBlock("aGk=", "image/png")]
        assert await session.prompt(blocks) == PromptResult("max_tokens", {"totalTokens": 3})
        assert client.events == [("s1", agent_text("one")), ("s1", ToolCallUpdate("t", begins=True, title="Look"))]
        sent = [{"type": "text", "text": "hello"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]
        assert script.heard[-1] == ("session/prompt", {"sessionId": "s1", "prompt": sent})
        assert referee(session.connection.log.lines) == ["initialize", "session/new", "session/prompt"]
        client.events.clear()
        await script.say("late")
        await working(client)
        assert client.events == [("s1", agent_text("late"))]


async def test_what_we_do_not_offer_is_refused_at_once(referee):
    methods = ["fs/read_text_file", "terminal/create", "_own/thing"]
    answers = []

    async def prompt(script, params):
        for method in methods:
            with pytest.raises(AgentRefused) as caught:
                await script.connection.request(method, {"sessionId": "s1"})
            answers.append((caught.value.method, caught.value.code))

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        await session.prompt([TextBlock("hello")])
        assert answers == [(method, -32601) for method in methods]
        assert referee(session.connection.log.lines)[3:] == [f"! {method}" for method in methods]


async def test_unknown_notifications_are_reported_unless_they_are_somebodys_own():
    async def prompt(script, params):
        for method in ("_own/news", "$/progress", "session/gossip"):
            await script.connection.notify(method, {})
        await script.connection.notify("session/update", {"sessionUpdate": "news"})

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, client):
        await session.prompt([TextBlock("hello")])
        assert client.diagnostics == ["unknown notification: session/gossip"]
        assert client.events == [("", UnknownUpdate("news", {"sessionUpdate": "news"}))]


# -- cancel -------------------------------------------------------------------------------------------------------


async def until_cancelled(script, params):
    await script.say("working")
    await script.cancelled.wait()
    return {"stopReason": "cancelled"}


async def working(client):
    """Wait for the first update."""
    await until(lambda: client.events)


async def test_cancel_goes_out_once_and_the_turn_ends_with_the_agents_word(referee):
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, client):
        results = []

        async def prompt():
            results.append((await session.prompt([TextBlock("hello")])).stop_reason)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await working(client)
            session.cancel()
            session.cancel()
        assert results == ["cancelled"]
        assert script.heard[3:] == [("session/cancel", {"sessionId": "s1"})]
        assert referee(session.connection.log.lines)[3:] == ["session/cancel"]


async def test_cancel_while_nothing_runs_sends_nothing():
    async with listening() as (script, launch), opened(launch) as (session, _):
        session.cancel()
        await session.prompt([TextBlock("hello")])
        session.cancel()
        await session.prompt([TextBlock("again")])
        assert [method for method, _ in script.heard] == ["initialize", "session/new", *["session/prompt"] * 2]


async def test_cancel_right_after_the_prompt_comes_after_it_on_the_wire():
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [TextBlock("x" * 1_000_000)])
            await anyio.lowlevel.checkpoint()
            session.cancel()
        assert [method for method, _ in script.heard[2:]] == ["session/prompt", "session/cancel"]


async def test_a_prompt_that_is_not_awaited_any_more_is_cancelled_at_the_agent_too():
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [TextBlock("hello")])
            await working(client)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(LIMIT):
            await script.cancelled.wait()
        assert script.heard[3:] == [("session/cancel", {"sessionId": "s1"})]


# -- an agent as a process ------------------------------------------------------------------------------------------


AGENT = """
import json, os, sys, time
def say(**members): print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)
def err(text): print(text, file=sys.stderr, flush=True)
def answer(message, result): say(id=message["id"], result=result)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        START
        answer(message, {"protocolVersion": 1, "agentInfo": {"name": "mine", "title": "My Agent"}})
    elif method == "session/new": answer(message, {"sessionId": "s1"})
    elif method == "session/prompt":
        TURN
        answer(message, {"stopReason": "end_turn"})
"""


def process(start="pass", turn="pass"):
    source = AGENT.replace("START", start).replace("TURN", turn)
    return Launch((sys.executable, "-c", source), label="the agent", environ=os.environ)


@pytest.mark.parametrize(
    ("start", "ending", "says"),
    [
        ("err('no node'); sys.exit(3)", "it exited with code 3", "no node"),
        ("err('env: node: not found'); sys.exit(127)", "it exited with code 127", "env: node: not found"),
        ("err('No version is set for command node'); sys.exit(126)", "it exited with code 126", "No version is set"),
    ],
)
async def test_one_that_exits_at_the_start_reports_its_code_and_last_words_and_no_time_helps(start, ending, says):
    with pytest.raises(AgentStartFailed) as caught:
        await refused(launch := process(start))
    happened, _, words = str(caught.value).partition("\n")
    assert (happened, caught.value.stderr) == (f"the agent stopped before it was ready: {ending}", words)
    assert words.startswith(says)
    assert caught.value.hint == start_advice(launch) == START_THERE.format(sys.executable)
    assert isinstance(caught.value.__cause__, AgentExited)


def test_advice_for_a_script_names_what_runs_it(tmp_path, monkeypatch):
    """The agent's output need not say that its Node.js is too old."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, first_line in (("node", "\x7fELF"), ("agent", "#!/usr/bin/env node"), ("shim", "#!/bin/sh")):
        (tmp_path / name).write_text(f"{first_line}\n")
        (tmp_path / name).chmod(0o755)
    advice = {name: start_advice(Launch((f"{tmp_path}/{name}",), environ=os.environ)) for name in ("agent", "shim")}
    plain = {name: START_THERE.format(f"{tmp_path}/{name}") for name in advice}
    assert advice == {**plain, "agent": plain["agent"] + RUN_BY.format(f"{tmp_path}/node")}
    assert start_advice(Launch(address=("localhost", 1))) == ""


async def test_one_that_is_not_ready_in_time_is_ended_and_its_last_ten_lines_shown():
    speaks = Launch(("sh", "-c", "seq -f 'line %g' 0 29 >&2; exec sleep 60"), label="the agent", environ=os.environ)
    with pytest.raises(AgentStartFailed) as caught, anyio.fail_after(LIMIT):
        await refused(speaks, timeout=1.0)
    last = "\n".join(f"line {n}" for n in range(20, 30))
    assert (str(caught.value), caught.value.hint) == (f"the agent {NOT_READY.format(1)}\n{last}", SLOW)
    assert caught.value.stderr.startswith("line 0\n")


async def test_death_in_a_turn_ends_the_prompt_with_its_reason():
    turn = "print('a log line', flush=True); err('out of memory'); os.kill(os.getpid(), 9)"
    async with opened(process(turn=turn)) as (session, client):
        with anyio.fail_after(LIMIT), pytest.raises(AgentExited) as caught:
            await session.prompt([TextBlock("hello")])
        words = "My Agent stopped: it was ended by SIGKILL"
        assert (str(caught.value), caught.value.stderr, session.connection.closed.is_set()) == (
            words,
            "out of memory",
            True,
        )
        assert caught.value.hint
        assert client.diagnostics == ["not JSON (10 bytes): a log line"]
        assert ("<", b"a log line") in session.connection.log.lines
        with pytest.raises(AgentExited):
            await session.prompt([TextBlock("again")])
        session.cancel()
