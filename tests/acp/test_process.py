"""Real child processes, small ones; after each test there must be neither a process nor a descriptor left."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest
from copilot_kernel.acp.connection import Connection
from copilot_kernel.acp.jsonrpc import method_not_found
from copilot_kernel.acp.process import TAIL, agent_process, describe
from copilot_kernel.errors import AgentExited, AgentNotFound, AgentStartFailed

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"
LEAVE_BEHIND = """
import os, subprocess, sys
print(subprocess.Popen((sys.executable, "-c", "import time; time.sleep(60)")).pid, flush=True)"""
"""A child of the agent's, which does not notice the end of anybody's input."""


@pytest.fixture(autouse=True)
def nothing_is_left():
    descriptors = len(os.listdir("/dev/fd"))
    yield
    assert psutil.Process().children(recursive=True) == []
    assert len(os.listdir("/dev/fd")) == descriptors


def python(source, *arguments):
    return [sys.executable, "-c", source, *map(str, arguments)]


async def lines(transport, count):
    data = b""
    with anyio.fail_after(5):
        while data.count(b"\n") < count and (piece := await transport.receive()):
            data += piece
    return data.splitlines()


async def end(transport):
    """All that still comes; at the latest after two seconds it must be over."""
    data = b""
    with anyio.fail_after(2):
        while piece := await transport.receive():
            data += piece
    return data


async def gone(pid):
    with anyio.fail_after(5):
        with suppress(psutil.NoSuchProcess):
            while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                await anyio.sleep(0.01)


# -- life ---------------------------------------------------------------------------------------------------------


async def test_what_is_sent_comes_back_and_the_end_of_input_ends_it(tmp_path):
    async with agent_process(python(ECHO), str(tmp_path)) as agent:
        await agent.send(b"one\n")
        await agent.send(b"two\n")
        assert await lines(agent, 2) == [b"one", b"two"]
        began = time.monotonic()
    assert time.monotonic() - began < 0.9
    assert agent.process.returncode == 0


async def test_it_runs_in_its_folder_with_our_whole_environment_and_a_group_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("A_PROXY", "http://127.0.0.1:1")
    source = "import os; print(os.getcwd(), os.environ['A_PROXY'], os.getpgid(0) == os.getpid(), flush=True)"
    async with agent_process(python(source), str(tmp_path)) as agent:
        assert await end(agent) == f"{tmp_path} http://127.0.0.1:1 True\n".encode()


ENDINGS = [
    ("raise SystemExit(7)", 7, "it exited with code 7"),
    ("pass", 0, "it exited with code 0"),
    ("import os; os.kill(os.getpid(), 9)", -9, "it was ended by SIGKILL"),
    ("import os; os.abort()", -6, "it was ended by SIGABRT"),
]


@pytest.mark.parametrize(("source", "code", "words"), ENDINGS)
async def test_the_end_comes_with_its_reason_and_the_last_words(tmp_path, source, code, words):
    source = f"import sys; print('out', flush=True); print('last words', file=sys.stderr, flush=True); {source}"
    async with agent_process(python(source), str(tmp_path)) as agent:
        assert await end(agent) == b"out\n"
        assert (agent.process.returncode, agent.ending(), agent.last_words()) == (code, words, "last words")


def test_every_return_code_has_words():
    assert [describe(code) for code in (None, -15, -200)] == [
        "it closed its pipes",
        "it was ended by SIGTERM",
        "it was ended by signal 200",
    ]


async def test_closing_the_output_alone_is_the_end_too(tmp_path):
    source = "import os, sys; os.close(1); sys.stdin.read()"
    async with agent_process(python(source), str(tmp_path)) as agent:
        assert await end(agent) == b""
        assert agent.ending() == "it closed its pipes"


async def test_writing_to_a_dead_process_says_so(tmp_path):
    async with agent_process(python("pass"), str(tmp_path)) as agent:
        await end(agent)
        with pytest.raises(AgentExited) as caught:
            await agent.send(b"hello\n")
        assert isinstance(caught.value.__cause__, BrokenPipeError)


# -- much and long ------------------------------------------------------------------------------------------------


async def test_a_flood_on_standard_error_stops_nobody_and_its_tail_is_kept(tmp_path):
    source = """
import sys
for n in range(50_000): sys.stderr.write(f"line {n:094}\\n")
sys.stderr.write("the end"); sys.stderr.flush()
print("ready", flush=True); sys.stdin.read()
"""
    async with agent_process(python(source), str(tmp_path)) as agent:
        assert await lines(agent, 1) == [b"ready"]
    *tail, last = agent.last_words().splitlines()
    assert last == "the end"
    assert tail == [f"line {n:094}" for n in range(50_000 - len(tail), 50_000)]
    assert 600 < len(tail) <= TAIL / 100


async def test_a_line_of_four_megabytes_arrives_whole_both_ways(tmp_path):
    line = b"x" * 4_000_000 + b"\n"
    async with agent_process(python(ECHO), str(tmp_path)) as agent, anyio.create_task_group() as tasks:
        tasks.start_soon(agent.send, line)
        assert await lines(agent, 1) == [line[:-1]]


async def test_a_line_of_65_mib_is_skipped_and_the_next_message_is_handled(tmp_path):
    source = (
        "import sys\nfor _ in range(65): sys.stdout.write('x' * 1048576)\n"
        'sys.stdout.write(chr(10) + \'{"method":"after"}\' + chr(10)); sys.stdout.flush(); sys.stdin.read()'
    )
    heard, diagnostics, arrived = [], [], anyio.Event()

    def notice(method, params):
        heard.append((method, params))
        arrived.set()

    def serve(method, params):
        raise method_not_found(method)

    async with (
        agent_process(python(source), str(tmp_path)) as agent,
        Connection(agent, on_notification=notice, on_request=serve, on_diagnostic=diagnostics.append),
    ):
        with anyio.fail_after(15):
            await arrived.wait()
    assert heard == [("after", {})]
    assert diagnostics == [f"a line longer than 67108864 bytes was skipped ({65 * 1024**2} bytes): {'x' * 2000}"]


# -- the end, against resistance ----------------------------------------------------------------------------------


STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\nwhile True: time.sleep(60)"


async def test_one_that_hears_neither_the_end_of_input_nor_sigterm_is_killed_within_its_time(tmp_path):
    async with agent_process(python(STUBBORN), str(tmp_path)) as agent:
        await lines(agent, 1)
        began = time.monotonic()
    assert time.monotonic() - began < 3
    assert agent.process.returncode == -signal.SIGKILL


async def test_sigterm_comes_before_sigkill(tmp_path):
    source = "import time; print('up', flush=True)\nwhile True: time.sleep(60)"
    async with agent_process(python(source), str(tmp_path)) as agent:
        await lines(agent, 1)
    assert agent.process.returncode == -signal.SIGTERM


async def test_one_that_is_stuck_in_writing_hears_the_end_of_its_input(tmp_path):
    source = "import sys; sys.stdout.write('x' * 5_000_000); sys.stdout.flush(); sys.stdin.read(); sys.exit(5)"
    async with agent_process(python(source), str(tmp_path)) as agent:
        await agent.receive()
    assert agent.process.returncode == 5


@pytest.mark.parametrize(
    ("source", "code", "seconds"), [(STUBBORN, -signal.SIGKILL, 2.9), (f"print('up', flush=True); {ECHO}", 0, 0.9)]
)
async def test_cancelling_ends_it_in_the_same_way(tmp_path, source, code, seconds):
    with anyio.CancelScope() as scope:
        async with agent_process(python(source), str(tmp_path)) as agent:
            await lines(agent, 1)
            began = time.monotonic()
            scope.cancel()
            await anyio.sleep_forever()
    assert agent.process.returncode == code
    assert time.monotonic() - began < seconds


async def test_cancelled_before_it_was_heard_it_is_ended_too(tmp_path):
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with agent_process(python(ECHO), str(tmp_path)):
            pass


async def test_an_error_of_the_body_comes_out_as_it_was_and_the_process_is_ended(tmp_path):
    error = ValueError("from the body")
    with pytest.raises(ValueError, match="from the body") as caught:
        async with agent_process(python(ECHO), str(tmp_path)) as agent:
            raise error
    assert caught.value is error
    assert agent.process.returncode == 0


@pytest.mark.parametrize("its_end", ["sys.exit(3)", "os.kill(os.getpid(), 9)"])
async def test_what_its_group_left_behind_goes_with_it(tmp_path, its_end):
    source = f"{LEAVE_BEHIND}; {its_end}"
    async with agent_process(python(source), str(tmp_path)) as agent:
        grandchild = int(await end(agent))
        await gone(grandchild)


async def test_what_its_group_runs_is_ended_with_a_live_one_too(tmp_path):
    source = f"{LEAVE_BEHIND}; sys.stdin.read()"
    async with agent_process(python(source), str(tmp_path)) as agent:
        (pid,) = await lines(agent, 1)
    await gone(int(pid))


async def test_one_that_left_the_group_and_holds_the_pipes_does_not_hide_the_end(tmp_path):
    source = f"{LEAVE_BEHIND.replace(')).', '), start_new_session=True).')}; sys.exit(3)"
    async with agent_process(python(source), str(tmp_path)) as agent:
        try:
            escaped = int((await lines(agent, 1))[0])
            assert await end(agent) == b""
            assert agent.ending() == "it exited with code 3"
        finally:
            os.kill(escaped, signal.SIGKILL)


def test_a_program_of_ours_that_exits_without_closing_takes_its_agent_along(tmp_path):
    source = """
import asyncio, sys
from copilot_kernel.acp.process import agent_process
async def main():
    global held
    held = agent_process([sys.executable, "-c", sys.argv[1]], "/")
    agent = await held.__aenter__()
    print(agent.process.pid, (await agent.receive()).decode(), flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
sys.stderr.close()
sys.exit(0)
"""
    ended = subprocess.run(python(source, STUBBORN), stdout=subprocess.PIPE, timeout=20, cwd=tmp_path)
    pid, word = ended.stdout.split()
    assert word == b"up"
    anyio.run(gone, int(pid))


# -- no start -----------------------------------------------------------------------------------------------------


async def started(argv, cwd):
    async with agent_process(argv, str(cwd)):
        pass


async def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(AgentNotFound) as caught:
        await started(["/nowhere/agent", "--acp"], tmp_path)
    assert str(caught.value) == "There is no program /nowhere/agent, or its interpreter is missing"
    assert caught.value.hint
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def script(folder: Path, text: str, mode: int) -> Path:
    path = folder / "agent"
    path.write_text(text)
    path.chmod(mode)
    return path


async def test_a_missing_interpreter_is_no_riddle(tmp_path):
    with pytest.raises(AgentNotFound):
        await started([str(script(tmp_path, "#!/nowhere/node\n", 0o755))], tmp_path)


async def test_a_file_that_may_not_run_says_so(tmp_path):
    path = script(tmp_path, "#!/bin/sh\n", 0o644)
    with pytest.raises(AgentStartFailed) as caught:
        await started([str(path)], tmp_path)
    assert (str(caught.value), caught.value.hint) == (f"{path} is not allowed to run", f"Try: chmod +x {path}")


async def test_a_file_that_is_no_program_says_so(tmp_path):
    with pytest.raises(AgentStartFailed):
        await started([str(script(tmp_path, "no program", 0o755))], tmp_path)


async def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(AgentStartFailed) as caught:
        await started(python(ECHO), tmp_path / "nowhere")
    assert str(caught.value) == f"The folder {tmp_path / 'nowhere'} does not exist"
