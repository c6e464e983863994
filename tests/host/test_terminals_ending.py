"""Real commands, small ones, that are ended: killed, released, or closed with all the others."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import anyio
import psutil
import pytest
from anyio.lowlevel import checkpoint
from copilot_kernel.acp.child_processes import Graces
from copilot_kernel.errors import HostMissing, HostRefused
from copilot_kernel.host import ExitStatus, Terminals
from copilot_kernel.host.terminals import TerminalOutput

from ..limits import LIMIT
from ..processes import is_alive
from .small_commands import done, gone, python, shell

pytestmark = pytest.mark.usefixtures("nothing_is_left")


# -- killing --------------------------------------------------------------------------------------------------------


async def test_a_killed_command_keeps_its_terminal(own, heard):
    id = await own.create(shell("echo before; exec sleep 60"))
    await heard.until(id, "before\n")
    assert own.output(id) == TerminalOutput("before\n", False, None)
    await own.kill(id)
    assert own.output(id) == TerminalOutput("before\n", False, ExitStatus(signal="SIGTERM"))
    await own.kill(id)
    assert await done(own, id) == ExitStatus(signal="SIGTERM")


# One write each: where Python does not buffer, `print` writes the line break by itself, and two lines mix.
GROUP = (
    f"{sys.executable} -c 'import os, time; os.setpgid(0, 0); os.write(1, b\"%d\\n\" % os.getpid()); time.sleep(30)'"
)
FAMILIES = [
    ("sh -c 'sleep 60 & echo $!; wait' & echo $!; wait", 2, "children and grandchildren"),
    ("sleep 60 & echo $!; trap '' TERM; sleep 60 & echo $!; wait; wait; wait", 2, "who does not listen"),
    ("timeout 60 sh -c 'echo $$; sleep 60' & echo $!; wait", 2, "`timeout` makes a group of its own"),
    (f"{GROUP} & {GROUP} & wait", 2, "so does a shell with job control"),
    ("sleep 60 >/dev/null 2>&1 & echo $!; echo $$; exec sleep 60", 2, "who does not hold the output"),
]


@pytest.mark.parametrize(("line", "count", "reason"), FAMILIES)
@pytest.mark.parametrize("way", ["kill", "release"])
async def test_the_whole_family_ends(own, heard, line, count, reason, way):
    id = await own.create(shell(f"{line}; echo ready"))
    with anyio.fail_after(LIMIT):
        while heard.text.get(id, "").count("\n") < count:
            await checkpoint()
    pids = [int(word) for word in heard.text[id].split()]
    assert [is_alive(pid) for pid in pids] == [True] * count, reason
    await getattr(own, way)(id)
    await gone(*pids)


async def test_what_a_command_leaves_in_the_background_ends_with_it(own):
    id = await own.create(shell("sleep 60 & echo $!; timeout 60 sleep 60 & echo $!"))
    assert await done(own, id) == ExitStatus(code=0)
    await gone(*map(int, own.output(id).text.split()))


DAEMON = """
import os, time
reading, writing = os.pipe()
if os.fork():
    os.read(reading, 1)  # what has not left the session when this process ends would end with it
    os._exit(0)
os.setsid()
os.write(1, b"%d\\n" % os.getpid())
os.write(writing, b"x")
time.sleep(60)
"""


async def test_a_daemon_gets_away_but_delays_nothing(own):
    """It is what setsid is for; the test ends it itself."""
    id = await own.create(python(DAEMON))
    assert await done(own, id) == ExitStatus(code=0)
    daemon = int(own.output(id).text)
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)
    await gone(daemon)


# -- releasing ------------------------------------------------------------------------------------------------------


async def test_a_released_terminal_is_forgotten_and_its_output_was_reported(own, heard):
    id = await own.create(shell("echo text; exec sleep 60"))
    await heard.until(id, "text\n")
    await own.release(id)
    assert (heard.text, heard.exits) == ({id: "text\n"}, {id: ExitStatus(signal="SIGTERM")})
    with pytest.raises(HostMissing):
        own.output(id)


# -- the end of all -------------------------------------------------------------------------------------------------


async def test_closing_ends_everything_at_once(heard):
    async with Terminals(heard, Graces(term=0.5)) as own:
        ids = [await own.create(shell("trap '' TERM; echo up; while :; do sleep 60; done")) for _ in range(5)]
        ids += [await own.create(shell("echo up; exec sleep 60")) for _ in range(5)]
        for id in ids:
            await heard.until(id, "up\n")
    assert heard.exits == {id: ExitStatus(signal="SIGKILL" if n < 5 else "SIGTERM") for n, id in enumerate(ids)}
    with pytest.raises(HostRefused, match="over"):
        await own.create(shell("true"))


async def test_a_cancellation_ends_everything(heard):
    with anyio.CancelScope() as scope:
        async with Terminals(heard) as own:
            id = await own.create(shell("echo up; exec sleep 60"))
            await heard.until(id, "up\n")
            scope.cancel()
            await own.wait_for_exit(id)
    assert heard.exits == {id: ExitStatus(signal="SIGTERM")}


async def test_a_command_whose_creation_is_cancelled_does_not_run_on(own, heard):
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(own.create, shell("exec sleep 60"))
            await checkpoint()
            scope.cancel()
    assert psutil.Process().children() == []
    assert own._open == {}


EXITS = """
import anyio
from copilot_kernel.host import Terminals, prepare

async def main():
    heard = anyio.Event()
    def hear(id, text, exit):
        print(text, end="", flush=True)
        if text: heard.set()
    own = await Terminals(hear).__aenter__()
    line = "timeout 60 sleep 60 & echo $! $$; exec sleep 60"
    await own.create(prepare("/bin/sh", ["-c", line], cwd="/", environ=dict()))
    await heard.wait()
    {ending}

anyio.run(main)
"""
ENDINGS = [
    ("pass", "the loop ends"),
    ("import os; os._exit(0)", "the interpreter does not even end"),
    ("import os; os.kill(os.getpid(), 9)", "it is killed"),
    ("import os; os.kill(0, 9)", "it is killed with its whole process group"),
]


FORKS = "import os, signal; os.fork() and os.kill(os.getpid(), 9); os.close(1); signal.alarm(20); signal.pause()"


@pytest.mark.parametrize(("ending", "reason"), [*ENDINGS, (FORKS, "it is killed and a fork of it lives on")])
async def test_a_kernel_that_exits_without_closing_leaves_nothing(ending, reason):
    program = EXITS.replace("{ending}", ending)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as run:
        with anyio.fail_after(LIMIT):
            printed = await anyio.to_thread.run_sync(run.stdout.read, abandon_on_cancel=True)
        pids = [int(word) for word in printed.split()]
        assert len(pids) == 2, reason
        try:
            await gone(*pids)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
