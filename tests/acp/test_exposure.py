"""Who else can use an agent that listens on a TCP port."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from copilot_kernel.acp import exposure
from copilot_kernel.acp.exposure import FIRST_USER, exposed_to, other_users

LOCAL = "tcp://127.0.0.1:3000"


def account(name: str, uid: int, shell: str = "/bin/bash") -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, uid, "", f"/home/{name}", shell))


SYSTEM = [account("root", 0), account("daemon", 1, "/usr/sbin/nologin"), account("nobody", 65534, "/bin/sh")]
ME = account("me", FIRST_USER)


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> list[pwd.struct_passwd]:
    """Those of a laptop with one user; a test adds others."""
    accounts = [*SYSTEM, ME]
    monkeypatch.setattr(pwd, "getpwall", lambda: accounts)
    monkeypatch.setattr(os, "getuid", lambda: ME.pw_uid)
    monkeypatch.setattr(exposure, "_owners", lambda _: iter([0, ME.pw_uid]))
    monkeypatch.setattr(exposure, "_has_logins", lambda: True)
    return accounts


def test_on_a_laptop_with_one_user_there_is_nobody_else(accounts: list[pwd.struct_passwd]) -> None:
    assert (list(other_users()), exposed_to(LOCAL)) == ([], "")


def test_in_a_container_the_accounts_of_its_image_are_nobody(
    accounts: list[pwd.struct_passwd], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(exposure, "_has_logins", lambda: False)
    monkeypatch.setattr(exposure, "_owners", lambda _: iter([0]))
    assert list(other_users()) == []


def test_services_are_nobody(accounts: list[pwd.struct_passwd]) -> None:
    accounts += [account("service", FIRST_USER + 1, "/usr/sbin/nologin"), account("sync", 4, "/bin/sync")]
    accounts.append(account("dynamic", 61_234, "/bin/false"))
    assert list(other_users()) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.1.2.3"])
def test_on_a_server_the_other_users_are_told(accounts: list[pwd.struct_passwd], host: str) -> None:
    accounts.append(account("ada", FIRST_USER + 1))
    assert exposed_to(f"tcp://{host}:3000") == "other users of this machine (ada)"


def test_a_user_of_a_directory_that_does_not_list_its_accounts_is_found_by_a_process(
    accounts: list[pwd.struct_passwd], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {1_000_001: account("grace", 1_000_001)}
    monkeypatch.setattr(pwd, "getpwuid", known.__getitem__)
    monkeypatch.setattr(exposure, "_owners", lambda _: iter([0, 200_000, 1_000_001]))
    assert list(other_users()) == ["grace"]


@pytest.mark.parametrize("host", ["192.0.2.1", "agents.example.org", "0.0.0.0"])
def test_over_a_network_it_is_everybody(accounts: list[pwd.struct_passwd], host: str) -> None:
    assert exposed_to(f"tcp://{host}:3000") == "everybody who can reach that address"


@pytest.mark.parametrize("agent", ["", "demo", "copilot --acp", "tcp://127.0.0.1", "tcp://127.0.0.1:99999"])
def test_an_agent_that_does_not_listen_is_there_for_nobody_else(accounts: list[pwd.struct_passwd], agent: str) -> None:
    accounts.append(account("ada", FIRST_USER + 1))
    assert exposed_to(agent) == ""


def test_the_owners_of_processes_are_read_from_proc(tmp_path: Path) -> None:
    for name in ("1", "22", "self"):
        (tmp_path / name).mkdir()
    owner = tmp_path.stat().st_uid
    assert (list(exposure._owners(tmp_path)), list(exposure._owners(tmp_path / "missing"))) == ([owner, owner], [])
