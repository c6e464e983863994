"""The folder and the socket of a broker: nobody else gets in, and one who does not read holds up nobody."""

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ByteReceiveStream
from copilot_kernel.acp.locate import locate
from copilot_kernel.agentd import client, sockets, wire
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.agentd.sockets import FOLDER, is_own, listen, private_folder, socket_path
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentStartFailed

from .brokers import LIMIT, agents, brokers, until
from .wires import OneThreadAgent, joined, serving

OTHER = 65534
DIAL = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as peer:
    peer.settimeout(20)
    try:
        peer.connect(sys.argv[1])
        peer.sendall(sys.argv[3].encode())
        print(len(peer.recv(100)))
    except ConnectionError:
        print(0)
"""


@pytest.fixture
def spec(runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentSpec:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path / "demo"))
    return AgentSpec(Settings(cwd=str(tmp_path)), locate("demo", os.environ), (), frozenset(), dict(os.environ))


async def rest(stream: ByteReceiveStream) -> bytes:
    """All that comes until the end."""
    read = b""
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            read += await stream.receive()
    return read


# -- the folder -----------------------------------------------------------------------------------------------------


def test_folder_and_socket_are_of_the_user_alone(runtime: Path) -> None:
    path = socket_path(runtime, "digest")
    with listen(path):
        assert [oct(each.stat().st_mode & 0o777) for each in (path.parent, path)] == ["0o700", "0o600"]
        with listen(path):  # in place of one that is left over
            assert path.is_socket()


def _others_may_enter(folder: Path) -> None:
    folder.mkdir(mode=0o750)
    folder.chmod(0o750)


def _is_a_link(folder: Path) -> None:
    (folder.parent / "real").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "real")


@pytest.mark.parametrize("made", [_others_may_enter, _is_a_link, Path.touch])
async def test_a_folder_that_is_not_of_the_user_alone_is_refused(spec: AgentSpec, runtime: Path, made: Any) -> None:
    made(runtime / FOLDER)
    with pytest.raises(AgentStartFailed):
        async with joined(spec, runtime):
            pass
    assert brokers(runtime) == []


def test_a_folder_of_another_user_is_refused(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private_folder(runtime / FOLDER)
    monkeypatch.setattr(os, "getuid", lambda: OTHER)
    with pytest.raises(AgentStartFailed, match="not a folder that only you can use"):
        private_folder(runtime / FOLDER)


async def test_where_the_path_is_too_long_for_a_socket_the_agent_is_shared_in_a_short_folder(
    spec: AgentSpec, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "SHORT", runtime)
    long, other = runtime / ("x" * 120), runtime / ("y" * 120)
    paths = socket_path(long, "digest"), socket_path(long, "digest"), socket_path(other, "digest")
    assert paths[0] == paths[1] != paths[2]
    assert [(path.parent.parent, oct(path.parent.stat().st_mode & 0o777)) for path in paths] == [(runtime, "0o700")] * 3
    async with joined(spec, long), joined(spec, long):
        assert len(brokers(runtime)) == 1
    paths[2].parent.chmod(0o755)
    with pytest.raises(AgentStartFailed, match="not a folder that only you can use"):
        socket_path(other, "digest")


# -- who is there ---------------------------------------------------------------------------------------------------


def test_the_operating_system_says_whose_the_other_side_is(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = socket.socketpair()
    with left, right:
        assert is_own(left)
        monkeypatch.setattr(os, "getuid", lambda: OTHER)
        assert not is_own(left)
    assert not is_own(left)


def test_where_it_cannot_say_everybody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = socket.socketpair()
    monkeypatch.setattr(sys, "platform", "other")
    with left, right:
        assert not is_own(left)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
async def test_another_user_who_reaches_the_socket_gets_no_answer(spec: AgentSpec, runtime: Path) -> None:
    async with joined(spec, runtime):
        (path,) = runtime.rglob("*.sock")
        for each, mode in ((runtime, 0o755), (path.parent, 0o755), (path, 0o666)):
            each.chmod(mode)
        hello = wire.notification(wire.HELLO, {}).decode()
        found = [
            (await anyio.run_process([sys.executable, "-c", DIAL, str(path), str(uid), hello])).stdout.strip() != b"0"
            for uid in (OTHER, 0)
        ]
    assert found == [False, True]


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\n", wire.notification("initialize", {})])
async def test_who_does_not_introduce_himself_gets_no_agent(spec: AgentSpec, runtime: Path, line: bytes) -> None:
    async with joined(spec, runtime) as kernel:
        (path,) = runtime.rglob("*.sock")
        async with await anyio.connect_unix(path) as stream:
            await stream.send(line)
            with anyio.fail_after(LIMIT):
                assert json.loads(await rest(stream))["method"] == wire.EXITED
        assert kernel.transport.kernels == 1


# -- start and end --------------------------------------------------------------------------------------------------


async def test_a_broker_that_cannot_start_says_why(spec: AgentSpec, runtime: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("no program")
    program.chmod(0o700)
    broken = AgentSpec(spec.settings, locate(str(program), os.environ), (), frozenset(), spec.environ)
    with pytest.raises(AgentStartFailed, match="could not be started"):
        async with joined(broken, runtime):
            pass
    await until(lambda: not brokers(runtime))


async def test_an_agent_that_takes_longer_to_start_than_a_kernel_waits_is_not_the_next_ones(
    spec: AgentSpec, runtime: Path
) -> None:
    impatient = replace(spec, settings=replace(spec.settings, start_timeout=0.1))
    async with serving(impatient, runtime, OneThreadAgent()) as server, joined(impatient, runtime):
        await until(lambda: server.broker.retiring)
        assert not list(runtime.rglob("*.sock"))


async def test_a_socket_that_nobody_listens_to_is_replaced(spec: AgentSpec, runtime: Path) -> None:
    listen(socket_path(runtime, spec.digest)).close()
    async with joined(spec, runtime) as kernel:
        assert await kernel.opened()


@pytest.mark.parametrize("welcome", [{"sandbox": 7}, {"sandbox": {"prefix": []}}, []])
async def test_a_broker_that_speaks_otherwise_is_replaced(spec: AgentSpec, runtime: Path, welcome: Any) -> None:
    """One of another version that has the same key."""
    line = json.dumps({"jsonrpc": "2.0", "method": wire.WELCOME, "params": welcome}).encode() + b"\n"

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(line)
        writer.close()

    other = await asyncio.start_unix_server(greet, sock=listen(socket_path(runtime, spec.digest)))
    async with joined(spec, runtime) as kernel:
        assert await kernel.opened()
    other.close()


@pytest.mark.parametrize("started", ["*.lock", "*.sock"])
async def test_a_start_that_is_interrupted_is_in_nobodys_way(spec: AgentSpec, runtime: Path, started: str) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_join, spec, runtime)
        await until(lambda: [*runtime.rglob(started)])
        tasks.cancel_scope.cancel()
    async with joined(spec, runtime) as kernel:
        assert await kernel.opened()
        assert (len(brokers(runtime)), len(agents(runtime))) == (1, 1)


async def _join(spec: AgentSpec, runtime: Path) -> None:
    async with joined(spec, runtime):
        await anyio.sleep_forever()


async def test_a_message_that_comes_as_its_receiver_is_cancelled_is_no_error(spec: AgentSpec, runtime: Path) -> None:
    """An error in the event loop would fail the test."""
    welcome, writers = wire.notification(wire.WELCOME, {}), list[asyncio.StreamWriter]()

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(welcome)

    async with (
        await asyncio.start_unix_server(greet, sock=listen(socket_path(runtime, spec.digest))),
        joined(spec, runtime) as kernel,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(kernel.receive)
        await anyio.wait_all_tasks_blocked()
        writers[0].write(welcome)
        await asyncio.sleep(0)  # what comes next is done before the message that the loop finds meanwhile
        tasks.cancel_scope.cancel()
        writers[0].close()  # from Python 3.12 on, the end of the server waits for that


async def test_a_broker_that_is_stuck_is_replaced(
    spec: AgentSpec, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with joined(spec, runtime):
        (stuck,) = brokers(runtime)
        stuck.suspend()
        monkeypatch.setattr(client, "WELCOME_SECONDS", 0.1)
        async with joined(spec, runtime) as other:
            assert await other.opened()
            stuck.resume()
    (path,) = runtime.rglob("*.sock")  # that of the other one
    stuck.terminate()
    await until(lambda: len(brokers(runtime)) == 1)
    assert path.is_socket()
