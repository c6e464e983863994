"""The same lines over a socket, against a listener on loopback."""

import os
import pwd
import socket
import struct
from pathlib import Path

import anyio
import pytest
from copilot_kernel.acp.tcp import NO_ANSWER, START_FIRST, agent_at, exposed_to
from copilot_kernel.errors import AgentExited, AgentNotFound
from copilot_kernel.system import posix_files
from copilot_kernel.system.files import other_users
from copilot_kernel.system.posix_files import MIN_PERSON_UID

from ..limits import LIMIT


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        yield server


def port(server):
    return server.getsockname()[1]


async def test_the_other_side_may_end_it(listener):
    async with agent_at("127.0.0.1", port(listener)) as agent:
        client, _ = listener.accept()
        client.sendall(b"last")
        client.close()
        with anyio.fail_after(LIMIT):
            assert [await agent.receive(), await agent.receive()] == [b"last", b""]
        assert (agent.ending(), agent.last_words()) == ("it closed the connection", "")


async def test_a_reset_is_an_end_and_writing_then_says_so(listener):
    async with agent_at("127.0.0.1", port(listener)) as agent:
        client, _ = listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        with anyio.fail_after(LIMIT):
            assert await agent.receive() == b""
            with pytest.raises(AgentExited):
                await agent.send(b"x")


async def test_without_a_listener_the_error_says_what_to_start(listener):
    number = port(listener)
    listener.close()
    with pytest.raises(AgentNotFound):
        async with agent_at("x" * 70, number):
            pass
    with pytest.raises(AgentNotFound) as caught:
        async with agent_at("localhost", number):
            pass
    assert str(caught.value) == NO_ANSWER.format("localhost", number, "Connection refused")
    assert caught.value.hint == START_FIRST.format(number)


# -- who else can use it --------------------------------------------------------------------------------------------


def account(name: str, uid: int, shell: str = "/bin/bash") -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, uid, "", f"/home/{name}", shell))


EVERYONE = "everyone who can reach that address"
SYSTEM = [account("root", 0), account("daemon", 1, "/usr/sbin/nologin"), account("nobody", 65534, "/bin/sh")]
ME = account("me", MIN_PERSON_UID)


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> list[pwd.struct_passwd]:
    """Those of a laptop with one user; a test adds others."""
    accounts = [*SYSTEM, ME]
    monkeypatch.setattr(pwd, "getpwall", lambda: accounts)
    monkeypatch.setattr(os, "getuid", lambda: ME.pw_uid)
    monkeypatch.setattr(posix_files, "_owners", lambda _: iter([0, ME.pw_uid]))
    monkeypatch.setattr(posix_files, "_has_logins", lambda: True)
    return accounts


def test_where_there_are_only_services_and_one_user_there_are_no_others(
    accounts: list[pwd.struct_passwd], monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts += [account("service", MIN_PERSON_UID + 1, "/usr/sbin/nologin"), account("sync", 4, "/bin/sync")]
    accounts.append(account("dynamic", 61_234, "/bin/false"))
    assert (list(other_users()), exposed_to("tcp://127.0.0.1:3000")) == ([], "")
    # In a container the accounts are those of its image.
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(posix_files, "_has_logins", lambda: False)
    monkeypatch.setattr(posix_files, "_owners", lambda _: iter([0]))
    assert list(other_users()) == []


def test_a_user_of_a_directory_that_does_not_list_its_accounts_is_found_by_a_process(
    accounts: list[pwd.struct_passwd], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {1_000_001: account("grace", 1_000_001)}
    monkeypatch.setattr(pwd, "getpwuid", known.__getitem__)
    monkeypatch.setattr(posix_files, "_owners", lambda _: iter([0, 200_000, 1_000_001]))
    assert list(other_users()) == ["grace"]


@pytest.mark.parametrize(
    ("agents", "others"),
    [
        (["", "demo", "copilot --acp", "tcp://127.0.0.1", "tcp://127.0.0.1:99999"], ""),
        (["tcp://localhost:3000", "tcp://[::1]:3000", "tcp://127.1.2.3:3000"], "other users of this machine (ada)"),
        (["tcp://192.0.2.1:3000", "tcp://agents.example.org:3000", "tcp://0.0.0.0:3000"], EVERYONE),
    ],
)
def test_who_else_can_use_an_agent_depends_on_where_it_listens(
    accounts: list[pwd.struct_passwd], agents: list[str], others: str
) -> None:
    accounts.append(account("ada", MIN_PERSON_UID + 1))
    assert {exposed_to(agent) for agent in agents} == {others}


def test_the_owners_of_processes_are_read_from_proc(tmp_path: Path) -> None:
    for name in ("1", "22", "self"):
        (tmp_path / name).mkdir()
    owner = tmp_path.stat().st_uid
    assert (list(posix_files._owners(tmp_path)), list(posix_files._owners(tmp_path / "missing"))) == (
        [owner, owner],
        [],
    )
