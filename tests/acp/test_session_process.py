"""A session with an agent whose life as a process is the subject."""

import json
import sys
import time
from dataclasses import replace

import anyio
import pytest
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.messages import Text
from copilot_kernel.errors import AgentExited, AgentStartFailed

from .scripted import OPTIONS, Client, opened, refused

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30), pytest.mark.usefixtures("nothing_is_left")]

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
