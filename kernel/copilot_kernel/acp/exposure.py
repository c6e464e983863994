"""Who else can use an agent that listens on a TCP port: ACP has no login, and neither has `copilot --acp --port`."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from ..errors import CopilotError
from .locate import locate

FIRST_USER = 500 if sys.platform == "darwin" else 1000
"""Accounts of people have this uid or a higher one."""
_NOBODY = 65534
_NO_LOGIN = frozenset({"nologin", "false"})


def exposed_to(agent: str) -> str:
    """Who can use `agent` besides its owner; empty if it does not listen, or if nobody else can reach it.

    Looks through the accounts and processes of this machine: not for an event loop's thread.
    """
    address = _address(agent)
    if address is None:
        return ""
    if not _is_loopback(address[0]):
        return "everybody who can reach that address"
    other = next(other_users(), "")
    return f"other users of this machine ({other})" if other else ""


def _address(agent: str) -> tuple[str, int] | None:
    """None also for an address that cannot be read: whoever connects says so."""
    try:
        return locate(agent, {}).address if agent.strip().startswith("tcp://") else None
    except CopilotError:
        return None


def other_users() -> Iterator[str]:
    """Names of other accounts of people: those that can log in here, and those that run a process now.

    In a container nobody logs in, whatever accounts its image has. Directories such as LDAP may not list their
    accounts, but know whose processes run.
    """
    if _has_logins():
        yield from (account.pw_name for account in pwd.getpwall() if _is_other_person(account))
    for uid in {each for each in _owners(Path("/proc")) if each >= FIRST_USER}:
        with suppress(KeyError):
            if _is_other_person(account := pwd.getpwuid(uid)):
                yield account.pw_name


def _has_logins() -> bool:
    """An operating system runs here and no container; the first path is how systemd is recognized (`sd_booted`)."""
    return os.path.isdir("/run/systemd/system") or sys.platform == "darwin"


def _is_other_person(account: pwd.struct_passwd) -> bool:
    is_person = account.pw_uid >= FIRST_USER and account.pw_uid not in (_NOBODY, os.getuid())
    return is_person and os.path.basename(account.pw_shell) not in _NO_LOGIN


def _owners(proc: Path) -> Iterator[int]:
    """The uid of each process; none where there is no such folder."""
    with suppress(OSError), os.scandir(proc) as entries:
        for entry in entries:
            if entry.name.isdecimal():
                with suppress(OSError):
                    yield entry.stat().st_uid


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host.lower() == "localhost"
