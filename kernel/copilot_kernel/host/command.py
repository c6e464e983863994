"""What a command of the agent's really runs, and with which environment.

Most agents send a program and its arguments. Some send a whole line for a shell in `command`, without arguments:
if no program has that name, `/bin/sh -c` runs it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..acp.environment import guarded
from ..errors import HostRefused

SHELL = ("/bin/sh", "-c")
DEFAULT_LIMIT, MAX_LIMIT = 1024 * 1024, 4 * 1024 * 1024
"""Bytes of output that are kept."""

_WITHHELD = (
    *("*_TOKEN", "TOKEN", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*CREDENTIAL*", "*_PAT"),
    *("*API_KEY*", "*APIKEY*", "*ACCESS_KEY*", "*PRIVATE_KEY*", "COPILOT_KERNEL_*"),
)
"""Names of the user's variables that hold secrets; ours may too (headers of MCP servers)."""

_DENIED = (
    *("LD_*", "DYLD_*", "GCONV_PATH", "BASH_ENV", "BASH_FUNC_*", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS"),
    *("PYTHONHOME", "PYTHONSTARTUP", "PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS"),
)
"""Names that an agent may not set: they run something else before the program that the question names."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, the folder it runs in, what the agent adds to its environment, and how many
    bytes of its output are kept."""

    argv: tuple[str, ...]
    cwd: str
    env: tuple[tuple[str, str], ...] = ()
    limit: int = DEFAULT_LIMIT

    @property
    def line(self) -> str:
        """All of it as a line for a shell: what a question must show and a rule must judge."""
        if self.argv[:2] == SHELL and len(self.argv) == 3 and not self.env:
            return self.argv[2]
        return " ".join([f"{name}={shlex.quote(value)}" for name, value in self.env] + [shlex.join(self.argv)])


def prepare(
    command: str,
    args: Sequence[str] = (),
    env: Sequence[tuple[str, str]] = (),
    *,
    cwd: str,
    limit: int | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Command:
    """What `terminal/create` asks for; `cwd` is absolute, `limit` None means the default. Raises HostRefused."""
    if not os.path.isabs(cwd) or "\0" in cwd or not os.path.isdir(cwd):
        raise HostRefused(f"There is no folder {cwd!r}; it must be an absolute path")
    if limit is not None and limit < 0:
        raise HostRefused("outputByteLimit must not be negative")
    for name, value in env:
        _check_variable(name, value)
    argv = _argv(command, args, cwd, {**environ, **dict(env)}.get("PATH"))
    return Command(argv, cwd, tuple(env), DEFAULT_LIMIT if limit is None else min(limit, MAX_LIMIT))


def environment(command: Command, environ: Mapping[str, str]) -> dict[str, str]:
    """What the command gets: the user's variables without secrets, and those of the agent."""
    kept = {name: value for name, value in environ.items() if not _matches(name.upper(), _WITHHELD)}
    return guarded(kept | dict(command.env))


def _check_variable(name: str, value: str) -> None:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
        raise HostRefused(f"{name[:100]!r} cannot be a variable, or its value is no text")
    if _matches(name, _DENIED):
        raise HostRefused(f"An agent may not set {name}: it changes what every program does")


def _argv(command: str, args: Sequence[str], cwd: str, path: str | None) -> tuple[str, ...]:
    if not command.strip() or any("\0" in word for word in (command, *args)):
        raise HostRefused("The command is empty, or has a null character in it")
    if args or _is_program(command, cwd, path):
        return (command, *args)
    return (*SHELL, command)


def _is_program(command: str, cwd: str, path: str | None) -> bool:
    name = os.path.join(cwd, command) if "/" in command else command
    return shutil.which(name, path=path) is not None


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
