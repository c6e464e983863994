"""Real commands, small ones, that run: how they start, what they say, how they end, and many at once."""

import os
import time

import anyio
import pytest
from copilot_kernel.acp.child_processes import Graces
from copilot_kernel.errors import HostError, HostMissing, HostRefused
from copilot_kernel.host import ExitStatus, Terminals, prepare, terminals
from copilot_kernel.host.terminals import MAX_TERMINALS, Tail, TerminalOutput

from ..limits import LIMIT
from ..processes import children
from .small_commands import done, python, shell

pytestmark = pytest.mark.usefixtures("nothing_is_left")


# -- life -----------------------------------------------------------------------------------------------------------


async def test_a_command_runs_in_its_folder_and_its_output_and_end_are_reported(own, heard, tmp_path):
    id = await own.create(shell("pwd; echo error >&2; echo out; exit 3", cwd=str(tmp_path)))
    assert await done(own, id) == ExitStatus(code=3)
    text = f"{tmp_path}\nerror\nout\n"
    assert own.output(id) == TerminalOutput(text, False, ExitStatus(code=3))
    assert (heard.text, heard.exits) == ({id: text}, {id: ExitStatus(code=3)})


ENDS = [
    ("exit 255", ExitStatus(code=255), "bad"),
    ("kill -TERM $$", ExitStatus(signal="SIGTERM"), "ended"),
    ("kill -37 $$", ExitStatus(signal="signal 37"), "a signal without a name"),
]


@pytest.mark.parametrize(("line", "exit", "reason"), ENDS)
async def test_the_end_has_a_code_or_a_signal(own, line, exit, reason):
    assert await done(own, await own.create(shell(line))) == exit, reason


async def test_a_command_has_no_input_no_terminal_of_ours_and_a_session_of_its_own(own):
    source = "import os, sys; print(repr(sys.stdin.read()), os.isatty(1), os.getsid(0) == os.getpid())"
    id = await own.create(python(source))
    await done(own, id)
    assert own.output(id).text == "'' False True\n"


async def test_what_comes_out_late_through_a_pipe_is_still_heard(heard):
    async with Terminals(heard, Graces(linger=20)) as own:
        id = await own.create(shell("(sleep 0.1; echo late) & echo early"))
        await done(own, id)
        assert own.output(id).text == "early\nlate\n"


async def test_half_a_character_is_told_when_nothing_comes_after_it(own, heard):
    id = await own.create(shell(r"printf '\303'"))
    await done(own, id)
    assert (heard.text[id], own.output(id).text) == ("\ufffd", "\ufffd")


async def test_a_limit_cuts_the_beginning_at_a_character(own, heard):
    id = await own.create(python("print('ü' * 1000, end='')", env=[("PYTHONUTF8", "1")], limit=101))
    await done(own, id)
    assert own.output(id) == TerminalOutput("ü" * 50, True, ExitStatus(code=0))
    assert heard.text[id] == "ü" * 1000


FAILURES = [
    (
        lambda: prepare("no-such-program", ["x"], cwd="/", environ=os.environ),
        HostRefused,
        "no-such-program was not found",
    ),
    (lambda: prepare("/etc/passwd", ["x"], cwd="/", environ=os.environ), HostRefused, "passwd is not executable"),
    (lambda: prepare("/bin/echo", ["x" * 5_000_000], cwd="/", environ=os.environ), HostError, "Argument list too long"),
    (lambda: prepare("/bin/echo", ["\ud800"], cwd="/", environ=os.environ), HostError, "could not be started"),
]


@pytest.mark.parametrize(("command", "kind", "words"), FAILURES)
async def test_what_cannot_be_started_is_an_error(own, command, kind, words):
    with pytest.raises(kind, match=words):
        await own.create(command())


async def test_an_unknown_id_is_unknown_everywhere(own):
    with pytest.raises(HostMissing, match="terminal 'x'"):
        own.output("x")
    for act in (own.wait_for_exit, own.kill, own.release):
        with pytest.raises(HostMissing, match="terminal 'x'"):
            await act("x")


# -- many -----------------------------------------------------------------------------------------------------------


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
        assert len(children(recursive=False)) == 5 + len(("reaper",))
        id = next(iter(own._open))
        await own.release(id)
        await own.create(shell("true"))
    assert refused == [terminals.TOO_MANY_TERMINALS.format(5)] * 4
    assert MAX_TERMINALS >= 100


async def test_a_flood_is_bounded_and_leaves_the_loop_to_others(own, heard):
    heard.text, started = Forgetful(), time.monotonic()
    ids = [await own.create(prepare("yes", ["x" * 99], cwd="/", limit=1000, environ=os.environ)) for _ in range(4)]
    with anyio.fail_after(LIMIT):
        for _ in range(100):
            await anyio.sleep(0.005)
    for id in ids:
        await own.kill(id)
    assert heard.text.times <= len(ids) * (2 + (time.monotonic() - started) / terminals.PAUSE_SECONDS)
    for id in ids:
        output = own.output(id)
        assert (len(output.text), output.truncated) == (1000, True)


class Forgetful(dict):
    """Keeps no text, but counts."""

    times = 0

    def __setitem__(self, id, text):
        self.times += 1
        super().__setitem__(id, "")


# -- the end of the output ------------------------------------------------------------------------------------------


CUTS = [
    (b"abcdef", 6, "abcdef", False, "all fits"),
    (b"", 0, "", False, "nothing came"),
    (b"\xff\xfe", 6, "\ufffd\ufffd", False, "what is no text counts as it is shown"),
    (b"\xff\xfe", 5, "\ufffd", True, "what is no text counts as it is shown"),
    (b"a\xc3", 9, "a\ufffd", False, "half a character at the end"),
]


@pytest.mark.parametrize(("data", "limit", "text", "truncated", "reason"), CUTS)
def test_the_end_is_kept(data, limit, text, truncated, reason):
    tail = Tail(limit)
    tail.feed(data, final=True)
    assert (tail.text, tail.truncated) == (text, truncated), reason


@pytest.mark.parametrize("limit", range(12))
@pytest.mark.parametrize("step", [1, 2, 3, 5, 99])
def test_it_does_not_matter_how_the_pieces_are_cut(limit, step):
    data = "aü€\U0001f600".encode() * 3
    whole, parts = Tail(limit), Tail(limit)
    whole.feed(data, final=True)
    fed = "".join(parts.feed(data[n : n + step]) for n in range(0, len(data), step)) + parts.feed(b"", final=True)
    assert (parts.text, parts.truncated, fed) == (whole.text, whole.truncated, data.decode())
    longest = next(data.decode()[n:] for n in range(13) if len(data.decode()[n:].encode()) <= limit)
    assert whole.text == longest
