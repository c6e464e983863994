"""The demo agent as a real process, and the commands that it runs."""

import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import anyio
import pytest
from copilot_kernel.acp.transport import PipeTransport
from copilot_kernel.errors import AgentExited

from .conftest import LIMIT, Client
from .messages import END, content, message

pytestmark = pytest.mark.anyio

COMMAND = [sys.executable, "-m", "copilot_kernel.demo"]
RUNNING = "shell echo $$ > pid.txt; echo started; exec sleep 600"


@asynccontextmanager
async def running(cwd):
    """The process, the pipes to it, and a client with a session."""
    pipe = subprocess.PIPE
    with subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        try:
            transport = PipeTransport(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
            process.stdin.close()
            client = Client(transport, cwd)
            async with client.connection:
                await client.begin()
                yield process, transport, client
        finally:
            process.kill()


async def ended(process):
    """Its exit code."""
    return await anyio.to_thread.run_sync(process.wait, LIMIT)


async def unanswered(client, prompt):
    with pytest.raises(AgentExited):
        await client.prompt(prompt)


@pytest.mark.parametrize("is_terminated", [False, True], ids=["end of input", "SIGTERM"])
async def test_it_ends_in_the_middle_of_everything_with_its_commands(tmp_path, is_terminated):
    async with running(tmp_path) as (process, transport, client):
        assert await client.play("demo: say hello") == [message("hello"), END]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(unanswered, client, f"demo: together {RUNNING} ;; shell yes")
            await client.until(lambda received: received.get("content") == content("started\n"))
            if is_terminated:
                process.terminate()
            else:
                transport.close_writing()
        assert (await ended(process), process.stderr.read()) == (0, b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid.txt").read_text()), 0)


async def test_a_session_survives_a_kill_in_the_middle_of_a_turn(tmp_path, connected):
    async with running(tmp_path) as (process, _, client):
        session = client.session_id
        await unanswered(client, "demo: say one\nshell echo two\nsay half\nshell kill -9 $PPID")
        assert await ended(process) == -signal.SIGKILL
    async with connected() as client:
        (listed,) = (await client.request("session/list", {}))["sessions"]
        shown, _ = await client.restore("session/load", session)
        assert (listed["sessionId"], listed["cwd"]) == (session, str(tmp_path))
        assert [each for each in shown if each in (message("one"), message("half"))] == [
            message("one"),
            message("half"),
        ]
        assert (await client.play("What do you remember?"))[-1] == END
