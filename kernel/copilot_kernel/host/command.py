"""Program, arguments and environment of a terminal command of the agent.

Most agents send a program and its arguments. Some send a whole shell command line without arguments: if no program has
that name, a shell runs it (`/bin/sh`, or `cmd.exe` on Windows).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ..acp.child_processes import guarded
from ..errors import HostRefused
from ..redaction import is_secret_variable
from ..system.files import which
from ..system.processes import SHELL

DEFAULT_OUTPUT_BYTES, MAX_OUTPUT_BYTES = 1024 * 1024, 4 * 1024 * 1024

# Variables that an agent may not set: they run something else before the program that the user approves.
_DENIED = (
    *("LD_*", "DYLD_*", "GCONV_PATH", "BASH_ENV", "BASH_FUNC_*", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS"),
    *("PYTHONHOME", "PYTHONSTARTUP", "PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS"),
)


@dataclass(frozen=True, slots=True)
class TerminalCommand:
    """A program with its arguments, the folder it runs in, what the agent adds to its environment, how many bytes of
    its output are kept, and the environment that the agent was given."""

    argv: tuple[str, ...]
    cwd: str
    env: tuple[tuple[str, str], ...] = ()
    limit: int = DEFAULT_OUTPUT_BYTES
    environ: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def line(self) -> str:
        """All of it as a shell command line: what the user sees and rules match."""
        if self.argv[:-1] == SHELL and not self.env:
            return self.argv[-1]
        return " ".join([f"{name}={shlex.quote(value)}" for name, value in self.env] + [shlex.join(self.argv)])


def prepare(
    command: str,
    args: Sequence[str] = (),
    env: Sequence[tuple[str, str]] = (),
    *,
    cwd: str,
    limit: int | None = None,
    environ: Mapping[str, str],
) -> TerminalCommand:
    """Check what `terminal/create` asks for; `cwd` is absolute, `limit` in bytes. Raises HostRefused."""
    if not os.path.isabs(cwd) or "\0" in cwd or not os.path.isdir(cwd):
        raise HostRefused(f"The folder {cwd!r} does not exist or is not an absolute path")
    if limit is not None and limit < 0:
        raise HostRefused("outputByteLimit must not be negative")
    for name, value in env:
        _check_variable(name, value)
    argv = _argv(command, args, cwd, {**environ, **dict(env)}.get("PATH"))
    kept = DEFAULT_OUTPUT_BYTES if limit is None else min(limit, MAX_OUTPUT_BYTES)
    return TerminalCommand(argv, cwd, tuple(env), kept, environ)


def environment(command: TerminalCommand) -> dict[str, str]:
    """The user's variables without secrets and without our settings, which may hold some, and the agent's variables."""
    kept = {
        name: value
        for name, value in command.environ.items()
        if not (is_secret_variable(name) or name.upper().startswith("COPILOT_KERNEL_"))
    }
    return guarded(kept | dict(command.env))


def _check_variable(name: str, value: str) -> None:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
        raise HostRefused(f"{name[:100]!r} is not a valid variable name, or its value has a null character")
    if any(fnmatchcase(name, pattern) for pattern in _DENIED):
        raise HostRefused(f"An agent may not set {name}: it affects every program")


def _argv(command: str, args: Sequence[str], cwd: str, path: str | None) -> tuple[str, ...]:
    if not command.strip() or any("\0" in word for word in (command, *args)):
        raise HostRefused("The command is empty or has a null character")
    name = os.path.join(cwd, command) if os.path.dirname(command) else command
    if args or which(name, path=path) is not None:
        return (command, *args)
    return (*SHELL, command)
