"""Real commands, small ones; after each test there must be neither a process nor a descriptor left."""

import os
import signal
import subprocess
import sys
import time

import anyio
import psutil
import pytest
from anyio.lowlevel import checkpoint
from copilot_kernel.errors import HostError, HostMissing, HostRefused
from copilot_kernel.host import Exit, Terminals, prepare, terminals
from copilot_kernel.host.terminals import MAX_TERMINALS, Output

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


@pytest.fixture(autouse=True)
def nothing_is_left():
    descriptors = len(os.listdir("/dev/fd"))
    yield
    assert [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE] == []
    assert (len(os.listdir("/dev/fd")), terminals._sessions) == (descriptors, {})


class Heard:
    """What the terminals told, by id; `until` waits for it."""

    def __init__(self):
        self.text, self.exits, self._news = {}, {}, anyio.Event()

    def __call__(self, id, text, exit):
        assert id not in self.exits, "nothing comes after the end"
        self.text[id] = self.text.get(id, "") + text
        if exit is not None:
            self.exits[id] = exit
        self._news.set()
        self._news = anyio.Event()

    async def until(self, id, words):
        with anyio.fail_after(5):
            while words not in self.text.get(id, ""):
                await self._news.wait()
        return self.text[id]


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
async def own(heard):
    async with Terminals(heard) as terminals:
        yield terminals


def python(source, *args, **more):
    return prepare(sys.executable, ["-c", source, *map(str, args)], cwd="/", **more)


def shell(line, **more):
    return prepare("/bin/sh", ["-c", line], **{"cwd": "/", **more})


async def done(own, id):
    with anyio.fail_after(10):
        return await own.wait_for_exit(id)


def is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(*pids):
    with anyio.fail_after(5):
        while any(map(is_alive, pids)):
            await anyio.sleep(0.01)


# -- life -----------------------------------------------------------------------------------------------------------


async def test_a_command_runs_in_its_folder_and_its_output_and_end_are_told(own, heard, tmp_path):
    id = await own.create(shell("pwd; echo error >&2; echo out; exit 3", cwd=str(tmp_path)))
    assert await done(own, id) == Exit(code=3)
    text = f"{tmp_path}\nerror\nout\n"
    assert own.output(id) == Output(text, False, Exit(code=3))
    assert (heard.text, heard.exits) == ({id: text}, {id: Exit(code=3)})


ENDS = [
    ("exit 0", Exit(code=0), "good"),
    ("exit 255", Exit(code=255), "bad"),
    ("kill -9 $$", Exit(signal="SIGKILL"), "killed"),
    ("kill -TERM $$", Exit(signal="SIGTERM"), "ended"),
    ("kill -37 $$", Exit(signal="signal 37"), "a signal without a name"),
]


@pytest.mark.parametrize(("line", "exit", "reason"), ENDS)
async def test_the_end_has_a_code_or_a_signal(own, line, exit, reason):
    assert await done(own, await own.create(shell(line))) == exit, reason


async def test_a_whole_line_without_arguments_is_run_by_a_shell(own):
    id = await own.create(prepare("echo one | tr a-z A-Z && echo $((1 + 1))", cwd="/"))
    assert (await done(own, id), own.output(id).text) == (Exit(code=0), "ONE\n2\n")


async def test_a_command_has_no_input_no_terminal_of_ours_and_a_session_of_its_own(own):
    source = "import os, sys; print(repr(sys.stdin.read()), os.isatty(1), os.getsid(0) == os.getpid())"
    id = await own.create(python(source))
    await done(own, id)
    assert own.output(id).text == "'' False True\n"


async def test_a_command_gets_the_users_environment_without_secrets_and_the_agents_own(own, monkeypatch):
    monkeypatch.setenv("A_PROXY", "proxy")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    id = await own.create(shell("echo $A_PROXY/$GITHUB_TOKEN/$CI", env=[("CI", "1")]))
    await done(own, id)
    assert own.output(id).text == "proxy//1\n"


async def test_output_is_there_while_the_command_runs(own, heard):
    id = await own.create(shell("echo first; exec sleep 60"))
    await heard.until(id, "first\n")
    assert own.output(id) == Output("first\n", False, None)


async def test_all_of_the_output_is_there_at_the_end(own):
    id = await own.create(python("import sys; sys.stdout.write('x' * 999_999 + '\\n')"))
    await done(own, id)
    assert own.output(id) == Output("x" * 999_999 + "\n", False, Exit(code=0))


async def test_what_comes_out_late_through_a_pipe_is_still_heard(own):
    id = await own.create(shell("(sleep 0.1; echo late) & echo early"))
    await done(own, id)
    assert own.output(id).text == "early\nlate\n"


async def test_a_limit_cuts_the_beginning_at_a_character(own, heard):
    id = await own.create(python("print('ü' * 1000, end='')", env=[("PYTHONUTF8", "1")], limit=101))
    await done(own, id)
    assert own.output(id) == Output("ü" * 50, True, Exit(code=0))
    assert heard.text[id] == "ü" * 1000


async def test_half_a_character_at_the_end_is_shown_as_such(own, heard):
    id = await own.create(shell("printf 'a\\303'"))
    await done(own, id)
    assert (own.output(id).text, heard.text[id]) == ("a\ufffd", "a\ufffd")


async def test_everybody_who_waits_is_told(own):
    id, exits = await own.create(shell("exec sleep 60")), []

    async def wait():
        exits.append(await own.wait_for_exit(id))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait)
            await checkpoint()
            await own.kill(id)
    assert exits == [Exit(signal="SIGTERM")] * 5


async def test_one_who_waits_can_give_up_and_the_command_goes_on(own):
    id = await own.create(shell("exec sleep 60"))
    with anyio.move_on_after(0.05) as scope:
        await own.wait_for_exit(id)
    assert (scope.cancelled_caught, own.output(id).exit) == (True, None)


FAILURES = [
    (lambda: prepare("no-such-program", ["x"], cwd="/"), HostRefused, "There is no program no-such-program"),
    (lambda: prepare("/etc/passwd", ["x"], cwd="/"), HostRefused, "passwd is not allowed to run"),
    (lambda: prepare("/bin/echo", ["x" * 5_000_000], cwd="/"), HostError, "Argument list too long"),
    (lambda: prepare("/bin/echo", ["\ud800"], cwd="/"), HostError, "could not be started"),
]


@pytest.mark.parametrize(("command", "kind", "words"), FAILURES)
async def test_what_cannot_be_started_is_said(own, command, kind, words):
    with pytest.raises(kind, match=words):
        await own.create(command())


async def test_an_unknown_id_is_unknown_everywhere(own):
    with pytest.raises(HostMissing, match="no terminal 'x'"):
        own.output("x")
    for act in (own.wait_for_exit, own.kill, own.release):
        with pytest.raises(HostMissing, match="no terminal 'x'"):
            await act("x")


# -- killing --------------------------------------------------------------------------------------------------------


async def test_a_killed_command_keeps_its_terminal(own, heard):
    id = await own.create(shell("echo before; exec sleep 60"))
    await heard.until(id, "before\n")
    await own.kill(id)
    assert own.output(id) == Output("before\n", False, Exit(signal="SIGTERM"))
    await own.kill(id)
    assert await done(own, id) == Exit(signal="SIGTERM")


async def test_a_command_may_clean_up_before_it_ends(own, heard):
    source = (
        "import signal; print('up', flush=True); signal.sigwait([signal.SIGTERM]); print('bye'); raise SystemExit(7)"
    )
    id = await own.create(
        python(f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); {source}")
    )
    await heard.until(id, "up\n")
    await own.kill(id)
    assert own.output(id) == Output("up\nbye\n", False, Exit(code=7))


async def test_a_stubborn_command_is_killed_in_time(own, heard):
    id = await own.create(shell("trap '' TERM; echo up; while :; do sleep 60; done"))
    await heard.until(id, "up\n")
    began = time.monotonic()
    await own.kill(id)
    assert own.output(id).exit == Exit(signal="SIGKILL")
    assert time.monotonic() - began < 2.5


GROUP = f"{sys.executable} -c 'import os, time; os.setpgid(0, 0); print(os.getpid(), flush=True); time.sleep(60)'"
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
    with anyio.fail_after(5):
        while heard.text.get(id, "").count("\n") < count:
            await checkpoint()
    pids = [int(word) for word in heard.text[id].split()]
    assert [is_alive(pid) for pid in pids] == [True] * count, reason
    await getattr(own, way)(id)
    await gone(*pids)


async def test_what_a_command_leaves_in_the_background_ends_with_it(own):
    id = await own.create(shell("sleep 60 & echo $!; timeout 60 sleep 60 & echo $!"))
    assert await done(own, id) == Exit(code=0)
    await gone(*map(int, own.output(id).text.split()))


async def test_a_daemon_gets_away_but_holds_up_nobody(own):
    """It is what setsid is for; the test ends it itself."""
    code = "import os, time; os.fork() and os._exit(0); os.setsid(); print(os.getpid(), flush=True); time.sleep(60)"
    id = await own.create(python(code))
    began = time.monotonic()
    assert await done(own, id) == Exit(code=0)
    assert time.monotonic() - began < 3
    daemon = int(own.output(id).text)
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)
    await gone(daemon)


async def test_a_stopped_command_is_killed(own, heard):
    id = await own.create(shell("echo up; kill -STOP $$; sleep 60"))
    await heard.until(id, "up\n")
    await own.kill(id)
    assert own.output(id).exit in (Exit(signal="SIGKILL"), Exit(signal="SIGTERM"))


# -- releasing ------------------------------------------------------------------------------------------------------


async def test_a_released_terminal_is_forgotten_and_its_output_was_told(own, heard):
    id = await own.create(shell("echo text; exec sleep 60"))
    await heard.until(id, "text\n")
    await own.release(id)
    assert (heard.text, heard.exits) == ({id: "text\n"}, {id: Exit(signal="SIGTERM")})
    with pytest.raises(HostMissing):
        own.output(id)
    with pytest.raises(HostMissing):
        await own.release(id)


async def test_who_waits_is_told_when_the_terminal_is_released(own):
    id, exits = await own.create(shell("exec sleep 60")), []

    async def wait():
        exits.append(await own.wait_for_exit(id))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await checkpoint()
            await own.release(id)
    assert exits == [Exit(signal="SIGTERM")]


async def test_a_release_that_is_cancelled_is_done_all_the_same(own, heard):
    id = await own.create(shell("echo $$; exec sleep 60"))
    pid = int(await heard.until(id, "\n"))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await own.release(id)
    await gone(pid)
    with pytest.raises(HostMissing):
        own.output(id)


# -- many -----------------------------------------------------------------------------------------------------------


async def test_a_hundred_terminals_at_once_each_have_their_own_output(own):
    said = {}

    async def one(n):
        id = await own.create(shell(f"echo {n}; exit {n}"))
        exit = await own.wait_for_exit(id)
        said[n] = own.output(id).text, exit
        await own.release(id)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for n in range(100):
                tasks.start_soon(one, n)
    assert said == {n: (f"{n}\n", Exit(code=n)) for n in range(100)}


async def test_there_is_a_limit_also_for_those_who_ask_all_at_once(heard, monkeypatch):
    monkeypatch.setattr(terminals, "MAX_TERMINALS", 5)
    refused = []

    async with Terminals(heard) as own:

        async def one():
            try:
                await own.create(shell("exec sleep 60"))
            except HostRefused as error:
                refused.append(str(error))

        async with anyio.create_task_group() as tasks:
            for _ in range(9):
                tasks.start_soon(one)
        assert len(psutil.Process().children()) == 5
        id = next(iter(own._open))
        await own.release(id)
        await own.create(shell("true"))
    assert refused == ["There are 5 terminals already"] * 4
    assert MAX_TERMINALS >= 100


async def test_a_flood_is_bounded_and_leaves_the_loop_to_others(own, heard):
    heard.text, started = Forgetful(), time.monotonic()
    ids = [await own.create(prepare("yes", ["x" * 99], cwd="/", limit=1000)) for _ in range(4)]
    waits = []
    with anyio.fail_after(10):
        for _ in range(100):
            began = time.monotonic()
            await anyio.sleep(0.005)
            waits.append(time.monotonic() - began)
    assert sorted(waits)[90] < 0.1
    for id in ids:
        await own.kill(id)
    assert heard.text.times <= len(ids) * (2 + (time.monotonic() - started) / terminals.PAUSE)
    for id in ids:
        output = own.output(id)
        assert (len(output.text), output.truncated) == (1000, True)


class Forgetful(dict):
    """Keeps no text, but counts."""

    times = 0

    def __setitem__(self, id, text):
        self.times += 1
        super().__setitem__(id, "")


# -- the end of all -------------------------------------------------------------------------------------------------


async def test_closing_ends_everything_at_once(heard):
    began = time.monotonic()
    async with Terminals(heard) as own:
        ids = [await own.create(shell("trap '' TERM; echo up; while :; do sleep 60; done")) for _ in range(5)]
        ids += [await own.create(shell("echo up; exec sleep 60")) for _ in range(5)]
        for id in ids:
            await heard.until(id, "up\n")
        began = time.monotonic()
    assert time.monotonic() - began < 3
    assert heard.exits == {id: Exit(signal="SIGKILL" if n < 5 else "SIGTERM") for n, id in enumerate(ids)}
    with pytest.raises(HostRefused, match="over"):
        await own.create(shell("true"))


async def test_killing_all_leaves_the_terminals(own):
    ids = [await own.create(shell("exec sleep 60")) for _ in range(3)]
    await own.kill_all()
    assert [own.output(id).exit for id in ids] == [Exit(signal="SIGTERM")] * 3


async def test_a_cancellation_ends_everything(heard):
    with anyio.CancelScope() as scope:
        async with Terminals(heard) as own:
            id = await own.create(shell("echo up; exec sleep 60"))
            await heard.until(id, "up\n")
            scope.cancel()
            await own.wait_for_exit(id)
    assert heard.exits == {id: Exit(signal="SIGTERM")}


async def test_an_error_ends_everything_and_comes_out(heard):
    async def chat():
        async with Terminals(heard) as own:
            await own.create(shell("exec sleep 60"))
            raise LookupError("of the chat")

    with pytest.raises(ExceptionGroup) as caught:
        await chat()
    assert [repr(error) for error in caught.value.exceptions] == ["LookupError('of the chat')"]
    assert list(heard.exits.values()) == [Exit(signal="SIGTERM")]


async def test_a_command_whose_creation_is_cancelled_does_not_run_on(own, heard):
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(own.create, shell("exec sleep 60"))
            await checkpoint()
            scope.cancel()
    assert psutil.Process().children() == []
    assert own._open == {}


async def test_creating_while_all_ends_leaves_nothing(heard):
    refused = []

    async def one(own):
        try:
            await own.create(shell("exec sleep 60"))
        except HostRefused:
            refused.append(own)

    async with anyio.create_task_group() as tasks, Terminals(heard) as own:
        for _ in range(5):
            tasks.start_soon(one, own)
        await checkpoint()
    assert len(refused) + len(heard.exits) == 5


EXITS = """
import anyio
from copilot_kernel.host import Terminals, prepare

async def main():
    said = anyio.Event()
    def hear(id, text, exit):
        print(text, end="", flush=True)
        if text: said.set()
    own = await Terminals(hear).__aenter__()
    line = "timeout 60 sleep 60 & echo $! $$; exec sleep 60"
    await own.create(prepare("/bin/sh", ["-c", line], cwd="/"))
    await said.wait()
    {ending}

anyio.run(main)
"""
ENDINGS = [
    ("pass", "the loop ends"),
    ("raise RuntimeError", "the loop fails"),
    ("import atexit, os; atexit._run_exitfuncs(); os._exit(0)", "the loop does not even end"),
]


@pytest.mark.parametrize(("ending", "reason"), ENDINGS)
async def test_a_kernel_that_exits_without_closing_leaves_nothing(ending, reason):
    program = EXITS.replace("{ending}", ending)
    with anyio.fail_after(10):
        run = await anyio.run_process([sys.executable, "-c", program], stderr=subprocess.DEVNULL, check=False)
    pids = [int(word) for word in run.stdout.split()]
    assert len(pids) == 2, reason
    await gone(*pids)
