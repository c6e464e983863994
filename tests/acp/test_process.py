"""Real child processes, small ones; after each test there must be neither a process nor a descriptor left."""

import os
import signal
import subprocess
import sys

import anyio
import pytest
from copilot_kernel.acp.child_processes import Graces
from copilot_kernel.acp.process import ALLOW_ALL, TAIL_BYTES, agent_process
from copilot_kernel.errors import AgentExited, AgentNotFound, AgentStartFailed
from copilot_kernel.system import apart

from ..limits import LIMIT
from ..processes import is_alive

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.fixture(params=["child", "apart"])
def parentage(request, monkeypatch):
    """An agent is a child of this process, or no descendant of it."""
    monkeypatch.setattr(apart, "prefix", ())
    if request.param == "apart":
        apart.keep_apart()


ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"
LEAVE_BEHIND = """
import os, subprocess, sys
print(subprocess.Popen((sys.executable, "-c", "import time; time.sleep(60)")).pid, flush=True)"""
"""A child of the agent's, which does not notice the end of anybody's input."""


async def gone(pid):
    with anyio.fail_after(LIMIT):
        while is_alive(pid):
            await anyio.sleep(0.01)


def python(source, *arguments):
    return [sys.executable, "-c", source, *map(str, arguments)]


async def lines(transport, count):
    data = b""
    with anyio.fail_after(LIMIT):
        while data.count(b"\n") < count and (piece := await transport.receive()):
            data += piece
    return data.splitlines()


async def end(transport):
    """All that still comes."""
    data = b""
    with anyio.fail_after(LIMIT):
        while piece := await transport.receive():
            data += piece
    return data


# -- life ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("parentage")
async def test_what_is_sent_comes_back_and_the_end_of_input_ends_it(tmp_path, monkeypatch):
    monkeypatch.setenv("A_PROXY", "http://127.0.0.1:1")
    source = "import os; print(os.getcwd(), os.environ['A_PROXY'], os.getpgid(0), flush=True)"
    async with agent_process(
        python(f"{source}; {ECHO}"), str(tmp_path), graces=Graces(eof=20), environ=os.environ
    ) as agent:
        await agent.send(b"one\n")
        await agent.send(b"two\n")
        assert await lines(agent, 3) == [f"{tmp_path} http://127.0.0.1:1 {agent.process.pid}".encode(), b"one", b"two"]
    assert agent.process.returncode == 0


async def test_no_variable_makes_an_agent_ask_about_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW_ALL, "1")
    source = f"import os; print(os.environ.get({ALLOW_ALL!r}), flush=True)"
    async with agent_process(python(source), str(tmp_path), environ=os.environ) as agent:
        assert await lines(agent, 1) == [b"None"]


ENDINGS = [
    ("raise SystemExit(7)", "it exited with code 7"),
    ("import os; os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
    ("import os; os.close(1); sys.stdin.read()", "it closed its pipes"),
]


@pytest.mark.parametrize(("source", "words"), ENDINGS)
@pytest.mark.usefixtures("parentage")
async def test_the_end_comes_with_its_reason_and_the_last_words(tmp_path, source, words):
    source = f"import sys; print('out', flush=True); print('last words', file=sys.stderr, flush=True); {source}"
    async with agent_process(python(source), str(tmp_path), environ=os.environ) as agent:
        assert await end(agent) == b"out\n"
        assert (agent.ending(), agent.last_words()) == (words, "last words")
        if agent.process.returncode is not None:
            with pytest.raises(AgentExited) as caught:
                await agent.send(b"hello\n")
            assert isinstance(caught.value.__cause__, BrokenPipeError)


# -- much and long ------------------------------------------------------------------------------------------------


async def test_a_flood_on_standard_error_blocks_nothing_and_its_tail_is_kept(tmp_path):
    source = """
import sys
for n in range(50_000): sys.stderr.write(f"line {n:094}\\n")
sys.stderr.write("the end"); sys.stderr.flush()
print("ready", flush=True); sys.stdin.read()
"""
    async with agent_process(python(source), str(tmp_path), environ=os.environ) as agent:
        assert await lines(agent, 1) == [b"ready"]
    *tail, last = agent.last_words().splitlines()
    assert last == "the end"
    assert tail == [f"line {n:094}" for n in range(50_000 - len(tail), 50_000)]
    assert 600 < len(tail) <= TAIL_BYTES / 100


# -- the end, against resistance ----------------------------------------------------------------------------------


QUICK = Graces(eof=0.05, term=0.05, kill=20, linger=0.05)
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\nwhile True: time.sleep(60)"


@pytest.mark.usefixtures("parentage")
async def test_one_that_is_stuck_in_writing_hears_the_end_of_its_input(tmp_path):
    source = "import sys; sys.stdout.write('x' * 5_000_000); sys.stdout.flush(); sys.stdin.read(); sys.exit(5)"
    async with agent_process(python(source), str(tmp_path), environ=os.environ) as agent:
        await agent.receive()
    assert agent.process.returncode == 5


@pytest.mark.parametrize(
    ("source", "code", "graces"),
    [
        (STUBBORN, -signal.SIGKILL, QUICK),
        (STUBBORN.replace("signal.signal", "print"), -signal.SIGTERM, Graces(eof=0.05, term=20)),
        (f"print('up', flush=True); {ECHO}", 0, Graces(eof=20)),
    ],
)
@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.usefixtures("parentage")
async def test_it_gets_the_end_of_input_then_sigterm_then_sigkill(tmp_path, source, code, graces, cancelled):
    with anyio.CancelScope() as scope:
        async with agent_process(python(source), str(tmp_path), graces=graces, environ=os.environ) as agent:
            await lines(agent, 1)
            if cancelled:
                scope.cancel()
                await anyio.sleep_forever()
    assert agent.process.returncode == code


@pytest.mark.parametrize("its_end", ["os.kill(os.getpid(), 9)", "sys.stdin.read()"])
@pytest.mark.usefixtures("parentage")
async def test_what_its_group_left_behind_goes_with_it(tmp_path, its_end):
    async with agent_process(python(f"{LEAVE_BEHIND}; {its_end}"), str(tmp_path), environ=os.environ) as agent:
        (grandchild,) = await lines(agent, 1)
        if "kill" in its_end:
            await gone(int(grandchild))
    await gone(int(grandchild))


@pytest.mark.usefixtures("parentage")
async def test_one_that_left_the_group_and_holds_the_pipes_does_not_hide_the_end(tmp_path):
    source = f"{LEAVE_BEHIND.replace(')).', '), start_new_session=True).')}; sys.exit(3)"
    async with agent_process(python(source), str(tmp_path), environ=os.environ) as agent:
        try:
            escaped = int((await lines(agent, 1))[0])
            assert await end(agent) == b""
            assert agent.ending() == "it exited with code 3"
        finally:
            os.kill(escaped, signal.SIGKILL)


def test_a_program_of_ours_that_exits_without_closing_takes_its_agent_along(tmp_path):
    source = """
import asyncio, os, sys
from copilot_kernel.acp.process import agent_process
async def main():
    global held
    held = agent_process([sys.executable, "-c", sys.argv[1]], "/", environ=os.environ)
    agent = await held.__aenter__()
    print(agent.process.pid, (await agent.receive()).decode(), flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
sys.stderr.close()
sys.exit(0)
"""
    ended = subprocess.run(python(source, STUBBORN), stdout=subprocess.PIPE, timeout=LIMIT, cwd=tmp_path)
    pid, word = ended.stdout.split()
    assert word == b"up"
    anyio.run(gone, int(pid))


# -- no start -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "cwd", "error", "words"),
    [
        ("missing", "", AgentNotFound, "missing was not found, or its interpreter is missing"),
        ("no-interpreter", "", AgentNotFound, "no-interpreter was not found, or its interpreter is missing"),
        ("not-executable", "", AgentStartFailed, "not-executable is not executable"),
        ("no-program", "", AgentStartFailed, "no-program"),
        ("no-program", "nowhere", AgentStartFailed, "The folder .*/nowhere does not exist"),
    ],
)
async def test_what_cannot_be_started_is_an_error(tmp_path, program, cwd, error, words):
    for name, text in (("no-interpreter", "#!/nowhere/node\n"), ("not-executable", "#!/bin/sh\n"), ("no-program", "x")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644 if name == "not-executable" else 0o755)
    with pytest.raises(error, match=words) as caught:
        async with agent_process([f"{tmp_path}/{program}", "--acp"], str(tmp_path / cwd), environ=os.environ):
            pass
    if error is AgentNotFound:
        assert caught.value.hint
        assert isinstance(caught.value.__cause__, FileNotFoundError)
    if program == "not-executable":
        assert caught.value.hint == f"Try: chmod +x {tmp_path}/{program}"
