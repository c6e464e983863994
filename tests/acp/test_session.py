"""A session over loopback with a scripted agent in the test itself; a process where its life is the subject."""

import json
import os
import socket
import sys
import time
from dataclasses import replace

import anyio
import psutil
import pytest
from copilot_kernel import __version__
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.messages import Image, Option, PromptResult, Text, ToolCallUpdate, Unknown
from copilot_kernel.errors import (
    AgentExited,
    AgentNotFound,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    ProtocolUnsupported,
)

from .scripted import OPTIONS, Client, listening, opened, refused, said

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


@pytest.fixture(autouse=True)
def nothing_is_left():
    descriptors = len(os.listdir("/dev/fd"))
    yield
    assert psutil.Process().children(recursive=True) == []
    assert len(os.listdir("/dev/fd")) == descriptors


# -- the start ----------------------------------------------------------------------------------------------------


async def test_the_start_says_who_we_are_and_opens_one_session():
    async with listening() as (script, launch), opened(launch, cwd="/tmp") as (session, _):
        assert (session.info.name, session.state.id, session.closed.is_set()) == ("script", "s1", False)
        initialize, new = script.heard
        assert initialize[1].pop("clientCapabilities").keys().isdisjoint({"elicitation", "auth"})
        assert initialize == (
            "initialize",
            {
                "protocolVersion": 1,
                "clientInfo": {"name": "copilot-kernel", "title": "Copilot Kernel", "version": __version__},
            },
        )
        assert new == ("session/new", {"cwd": "/tmp", "mcpServers": []})


async def test_updates_before_the_session_has_a_name_are_not_lost():
    async def new(script, params):
        await script.say("early")
        await script.update({"sessionUpdate": "news"}, session="another")
        return {"sessionId": "s1"}

    async with listening(session_new=new) as (_, launch), opened(launch) as (_, client):
        assert client.events == [("s1", said("early")), ("another", Unknown("news", {"sessionUpdate": "news"}))]


@pytest.mark.parametrize("version", [1, "1"])
async def test_version_one_is_taken_as_number_or_digit(version):
    async with listening(initialize={"protocolVersion": version}) as (_, launch), opened(launch) as (session, _):
        assert session.state.id == "s1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"protocolVersion": 2}, "2"),
        ({"protocolVersion": 99}, "99"),
        ({"protocolVersion": 0}, "0"),
        ({"protocolVersion": "v1"}, "v1"),
        ({"protocolVersion": True}, "true"),
        ({}, "none"),
        (None, "none"),
    ],
)
async def test_any_other_version_is_refused(answer, words):
    async with listening(initialize=answer) as (script, launch):
        with pytest.raises(ProtocolUnsupported) as caught:
            await refused(launch)
        assert str(caught.value) == f"the agent speaks version {words} of the protocol; this client speaks version 1"
        assert caught.value.hint
        assert [method for method, _ in script.heard] == ["initialize"]


async def test_an_agent_that_wants_a_sign_in_says_how():
    methods = [{"id": "login", "name": "Log in", "description": "Run it"}]
    answers = {
        "initialize": {"protocolVersion": 1, "authMethods": methods},
        "session_new": RequestFailed(-32000, "Authentication required"),
    }
    async with listening(**answers) as (_, launch):
        with pytest.raises(AuthRequired) as caught:
            await refused(launch)
        assert (caught.value.method, caught.value.code) == ("session/new", -32000)
        assert [(method.id, method.name, method.description) for method in caught.value.methods] == [
            ("login", "Log in", "Run it")
        ]
        assert isinstance(caught.value.__cause__, AgentRefused)


async def test_another_refusal_keeps_its_method_code_and_data():
    answer = RequestFailed(-32603, "Internal error", {"details": "no disk"})
    async with listening(session_new=answer) as (_, launch):
        with pytest.raises(AgentRefused) as caught:
            await refused(launch)
        assert not isinstance(caught.value, AuthRequired)
        assert (caught.value.method, caught.value.code, caught.value.data, str(caught.value)) == (
            "session/new",
            -32603,
            {"details": "no disk"},
            "The agent refused session/new: Internal error: no disk (-32603)",
        )


@pytest.mark.parametrize("answer", [{}, None, {"sessionId": 5}, {"sessionId": ""}])
async def test_a_session_without_a_name_is_no_session(answer):
    async with listening(session_new=answer) as (_, launch):
        with pytest.raises(AgentStartFailed) as caught:
            await refused(launch)
        assert str(caught.value) == "the agent opened a session without a sessionId"


async def test_one_that_accepts_and_says_nothing_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.monotonic()
        with pytest.raises(AgentStartFailed) as caught:
            await refused(Launch(address=server.getsockname(), label="the agent"), timeout=0.2)
        assert time.monotonic() - began < 1
        assert str(caught.value) == "the agent was not ready within 0.2 s"


async def test_nobody_at_the_address_is_no_agent():
    with pytest.raises(AgentNotFound):
        await refused(Launch(address=("127.0.0.1", 9), label="the agent"))


# -- a turn -------------------------------------------------------------------------------------------------------


async def test_a_turn_sends_the_blocks_and_ends_after_its_updates(referee):
    async def prompt(script, params):
        await script.say("one")
        await script.update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look"})
        return {"stopReason": "max_tokens", "usage": {"totalTokens": 3}}

    async with listening(session_prompt=prompt) as (script, launch), opened(launch) as (session, client):
        result = await session.prompt([Text("hello"), Image("aGk=", "image/png")])
        raw = {"stopReason": "max_tokens", "usage": {"totalTokens": 3}}
        assert result == PromptResult("max_tokens", {"totalTokens": 3}, raw=raw)
        assert client.events == [("s1", said("one")), ("s1", ToolCallUpdate("t", begins=True, title="Look"))]
        assert script.heard[-1] == (
            "session/prompt",
            {
                "sessionId": "s1",
                "prompt": [
                    {"type": "text", "text": "hello"},
                    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                ],
            },
        )
        assert referee(session.log.lines) == ["initialize", "session/new", "session/prompt"]


async def test_updates_after_the_end_still_come():
    async with listening() as (script, launch), opened(launch) as (session, client):
        await session.prompt([Text("hello")])
        await script.say("late")
        with anyio.fail_after(5):
            while not client.events:
                await anyio.lowlevel.checkpoint()
        assert client.events == [("s1", said("late"))]


CHOICES = [
    (0, {"outcome": {"outcome": "selected", "optionId": "yes-1"}}),
    (1, {"outcome": {"outcome": "selected", "optionId": "no-1"}}),
    (None, {"outcome": {"outcome": "cancelled"}}),
]


@pytest.mark.parametrize(("choice", "outcome"), CHOICES)
async def test_a_question_comes_in_its_place_and_gets_the_chosen_answer(referee, choice, outcome):
    answers = []

    async def prompt(script, params):
        await script.say("before")
        answers.append(await script.ask(sessionId="s1", toolCall={"toolCallId": "t"}, options=OPTIONS))
        await script.say("after")
        return {"stopReason": "end_turn"}

    client = Client()
    client.choose = choice
    async with listening(session_prompt=prompt) as (_, launch), opened(launch, client) as (session, _):
        await session.prompt([Text("hello")])
        before, question, after = client.events
        assert (before, after) == (("s1", said("before")), ("s1", said("after")))
        assert (question.session_id, question.tool_call.id, question.options[1]) == (
            "s1",
            "t",
            Option("no-1", "Reject", "reject_once"),
        )
        assert answers == [outcome]
        assert referee(session.log.lines)[-1] == "= session/request_permission"


async def test_what_we_do_not_offer_is_refused_at_once(referee):
    answers = []

    async def prompt(script, params):
        for method in ("fs/read_text_file", "terminal/create", "craft/drainMidTurnQueue", "_own/thing"):
            with pytest.raises(AgentRefused) as caught:
                await script.connection.request(method, {"sessionId": "s1"})
            answers.append((caught.value.method, caught.value.code))
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        await session.prompt([Text("hello")])
        methods = ["fs/read_text_file", "terminal/create", "craft/drainMidTurnQueue", "_own/thing"]
        assert answers == [(method, -32601) for method in methods]
        assert referee(session.log.lines)[3:] == [f"! {method}" for method in methods]


async def test_unknown_notifications_are_reported_unless_they_are_somebodys_own():
    async def prompt(script, params):
        for method in ("_own/news", "$/progress", "session/gossip"):
            await script.connection.notify(method, {})
        await script.connection.notify("session/update", {"sessionUpdate": "news"})
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, client):
        await session.prompt([Text("hello")])
        assert client.diagnostics == ["a notification that this client does not know: session/gossip"]
        assert client.events == [("", Unknown("news", {"sessionUpdate": "news"}))]


async def test_a_refused_prompt_leaves_the_session_usable():
    answers = [RequestFailed(-32000, "Authentication required"), RequestFailed(400, "too long"), None]

    async def prompt(script, params):
        if answer := answers.pop(0):
            raise answer
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        with pytest.raises(AuthRequired):
            await session.prompt([Text("hello")])
        with pytest.raises(AgentRefused) as caught:
            await session.prompt([Text("hello")])
        assert str(caught.value) == "The agent refused session/prompt: too long (400)"
        assert (await session.prompt([Text("hello")])).stop_reason == "end_turn"


async def test_a_second_prompt_waits_for_the_first():
    order = []

    async def prompt(script, params):
        order.append("begins")
        await script.say("…")
        await anyio.lowlevel.checkpoint()
        order.append("ends")
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(session.prompt, [Text("hello")])
        assert order == ["begins", "ends"] * 3


# -- cancel -------------------------------------------------------------------------------------------------------


async def until_cancelled(script, params):
    await script.say("working")
    await script.cancelled.wait()
    return {"stopReason": "cancelled"}


async def working(client):
    with anyio.fail_after(5):
        while not client.events:
            await anyio.lowlevel.checkpoint()


async def test_cancel_goes_out_once_and_the_turn_ends_with_the_agents_word(referee):
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, client):
        results = []

        async def prompt():
            results.append((await session.prompt([Text("hello")])).stop_reason)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await working(client)
            await session.cancel()
            await session.cancel()
        assert results == ["cancelled"]
        assert script.heard[3:] == [("session/cancel", {"sessionId": "s1"})]
        assert referee(session.log.lines)[3:] == ["session/cancel"]


async def test_cancel_while_nothing_runs_sends_nothing():
    async with listening() as (script, launch), opened(launch) as (session, _):
        await session.cancel()
        await session.prompt([Text("hello")])
        await session.cancel()
        await session.prompt([Text("again")])
        assert [method for method, _ in script.heard] == ["initialize", "session/new", *["session/prompt"] * 2]


async def test_cancel_right_after_the_prompt_comes_after_it_on_the_wire():
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [Text("x" * 1_000_000)])
            await anyio.lowlevel.checkpoint()
            await session.cancel()
        assert [method for method, _ in script.heard[2:]] == ["session/prompt", "session/cancel"]


async def test_a_prompt_that_is_not_awaited_any_more_is_cancelled_at_the_agent_too():
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [Text("hello")])
            await working(client)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await script.cancelled.wait()
        assert script.heard[3:] == [("session/cancel", {"sessionId": "s1"})]


# -- processes ----------------------------------------------------------------------------------------------------

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
        answer(message, {"protocolVersion": 1})
    elif method == "session/new": answer(message, {"sessionId": "s1"})
    elif method == "session/prompt":
        TURN
        answer(message, {"stopReason": "end_turn"})
"""


def process(start="pass", turn="pass"):
    source = AGENT.replace("START", start).replace("TURN", turn)
    return Launch((sys.executable, "-c", source), label="the agent")


async def test_an_agent_as_a_process_has_a_turn():
    async with opened(process(turn="print('a log line', flush=True)")) as (session, client):
        assert (await session.prompt([Text("hello")])).stop_reason == "end_turn"
        assert client.diagnostics == ["no JSON (10 bytes): a log line"]
        assert ("<", b"a log line") in session.log.lines


async def test_five_megabytes_of_log_before_the_start_stop_nobody():
    async with opened(process(start="sys.stderr.write('x' * 5_000_000); err('the end')")) as (session, _):
        assert session.last_words().endswith("xthe end")


@pytest.mark.parametrize(
    ("start", "words", "stderr"),
    [
        ("err('no node'); sys.exit(3)", "ended before it was ready: it exited with code 3\nno node", "no node"),
        ("os.abort()", "ended before it was ready: it was ended by SIGABRT", ""),
        ("sys.exit()", "ended before it was ready: it exited with code 0", ""),
    ],
)
async def test_one_that_exits_at_the_start_tells_its_code_and_last_words(start, words, stderr):
    with pytest.raises(AgentStartFailed) as caught:
        await refused(process(start))
    assert (str(caught.value), caught.value.stderr) == (f"the agent {words}", stderr)
    assert caught.value.hint
    assert isinstance(caught.value.__cause__, AgentExited)


async def test_one_that_is_not_ready_in_time_is_ended_and_its_last_ten_lines_shown():
    began = time.monotonic()
    with pytest.raises(AgentStartFailed) as caught:
        await refused(process("[err(f'line {n}') for n in range(30)]; sys.stdin.read()"), timeout=0.5)
    assert time.monotonic() - began < 2
    last = "\n".join(f"line {n}" for n in range(20, 30))
    assert str(caught.value) == f"the agent was not ready within 0.5 s\n{last}"
    assert caught.value.stderr.startswith("line 0\n")


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ("err('out of memory'); os.kill(os.getpid(), 9)", "the agent is gone: it was ended by SIGKILL"),
        ("err('out of memory'); sys.exit(1)", "the agent is gone: it exited with code 1"),
    ],
)
async def test_death_in_a_turn_ends_the_prompt_with_its_reason(turn, words):
    async with opened(process(turn=turn)) as (session, _):
        began = time.monotonic()
        with pytest.raises(AgentExited) as caught:
            await session.prompt([Text("hello")])
        assert time.monotonic() - began < 2
        assert (str(caught.value), caught.value.stderr, session.closed.is_set()) == (words, "out of memory", True)
        assert caught.value.hint
        with pytest.raises(AgentExited):
            await session.prompt([Text("again")])
        await session.cancel()


async def test_one_that_hears_nothing_any_more_is_gone_too():
    turn = 'answer(message, {"stopReason": "end_turn"}); os.close(0); time.sleep(60)'
    async with opened(process(turn=turn)) as (session, _):
        await session.prompt([Text("hello")])
        began = time.monotonic()
        with pytest.raises(AgentExited) as caught:
            await session.prompt([Text("longer than a pipe " * 10_000)])
        assert time.monotonic() - began < 2
        assert str(caught.value) == "the agent is gone: it closed its pipes"
        assert session.closed.is_set()


async def test_death_with_a_question_open_withdraws_the_question():
    ask = {
        "id": 0,
        "method": "session/request_permission",
        "params": {"sessionId": "s1", "toolCall": {"toolCallId": "t"}, "options": OPTIONS},
    }
    withdrawn = []

    class Undecided(Client):
        async def _decide(self, request):
            try:
                await anyio.sleep_forever()
            finally:
                withdrawn.append(request.tool_call.id)

    async with opened(process(turn=f"print({json.dumps(ask)!r}, flush=True); sys.exit(1)"), Undecided()) as (
        session,
        _,
    ):
        with pytest.raises(AgentExited):
            await session.prompt([Text("hello")])
        with anyio.fail_after(5):
            while not withdrawn:
                await anyio.lowlevel.checkpoint()
    assert withdrawn == ["t"]


async def test_a_prompt_larger_than_the_pipe_can_be_cancelled_while_nobody_reads_it():
    named = 'answer(message, {"sessionId": "s1"})'
    launch = process()
    source = launch.argv[-1].replace(named, f"{named}; time.sleep(60)")
    async with opened(replace(launch, argv=(*launch.argv[:-1], source))) as (session, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [Text("x" * 1_000_000)])
            await anyio.lowlevel.checkpoint()
            with anyio.fail_after(0.5):
                await session.cancel()
            tasks.cancel_scope.cancel()
        began = time.monotonic()
    assert time.monotonic() - began < 3.5
