"""Find the agent that the setting names: a program to start or an address to connect to. Never silently another one."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..config import DEMO_COMMAND, Settings
from ..environment import HOME
from ..errors import AgentNotFound, UsageError
from ..programs import (
    find_off_path,
    find_outside,
    interpreter,
    is_foreign,
    missing_interpreter,
    path_outside,
)
from ..system.files import direct_command, split_command, which

PROGRAM_NOT_FOUND = "The agent's program {} was not found"
PROGRAM_IN_PROJECT = "The agent's program {} is in the project; agents are never started from there"
INVALID_COMMAND = "Invalid command for the agent: {} ({})"
ADDRESS_FORM = "Use tcp://HOST:PORT, with a port from 1 to 65535."
INVALID_ADDRESS = "Invalid address for the agent: {}"
NOT_ON_PATH = "{} is not on the PATH of the Jupyter server"
CANNOT_START = "{} cannot start: {}"
START_THERE = (
    "Start Jupyter from a terminal in which `{} --version` works, or with the PATH of that terminal: a server that a "
    "desktop, a hub or systemd has started has another one."
)
NAME_PROGRAM = "Name the program that it starts, with its arguments, in the agent setting (COPILOT_KERNEL_AGENT)."
RUN_BY = " It is run by {}, which may be too old for it."
NOT_INSTALLED = "GitHub Copilot CLI is not installed"
INSTALL = """\
Install it and sign in, in a terminal:
    npm install -g @github/copilot
    copilot login
Or try the demo agent, which needs neither account nor network:
    %agent demo            (in a cell of this notebook; in a Python notebook: %copilot %agent demo)
    copilot-kernel demo    (opens JupyterLab on the tour)
Or name another agent, for example: COPILOT_KERNEL_AGENT="opencode acp\""""


@dataclass(frozen=True, slots=True)
class Launch:
    """Program to start (`argv`, its program an absolute path) or place to connect to (`address`); `label` names it.

    `prefix` is the command that runs `argv` in a sandbox; `environ` is the environment.
    """

    argv: tuple[str, ...] = ()
    address: tuple[str, int] | None = None
    label: str = ""
    is_copilot: bool = False
    prefix: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, compare=False)


def locate(agent: str, environ: Mapping[str, str], project: Collection[Path] = ()) -> Launch:
    """Find the agent that the setting `agent` names; empty means GitHub Copilot CLI.

    Its program is in none of the folders `project`, where an agent or a stranger may have put it. Raises AgentNotFound
    if it is missing, UsageError if the setting is invalid.
    """
    agent = agent.strip()
    if not agent:
        return _copilot(environ, project)
    if agent == "demo":
        return Launch(argv=_demo(environ), label="demo agent")
    if "://" in agent.split()[0]:
        return _address(agent)
    return _command(agent, environ, project)


def located(settings: Settings) -> Launch:
    """The agent of the settings, found with the user's variables; see `locate`. Reads the disk."""
    launch = locate(settings.agent, settings.environ, settings.project_folders)
    return replace(launch, environ=settings.agent_environ)


def start_advice(launch: Launch) -> str:
    """Return advice about a program that has ended before it was ready; nothing if we did not start it."""
    runs_it = interpreter(Path(launch.argv[0]), launch.environ) if launch.argv else None
    advice = START_THERE.format(launch.argv[0]) if launch.argv else ""
    return advice + (RUN_BY.format(runs_it) if runs_it and not runs_it.name.endswith("sh") else "")


def with_denied_tools(launch: Launch, patterns: Iterable[str]) -> Launch:
    """Let GitHub Copilot CLI deny these tools itself (`--deny-tool`); other agents have no such flag."""
    if not (launch.is_copilot and launch.argv):
        return launch
    return replace(launch, argv=(*launch.argv, *(f"--deny-tool={pattern}" for pattern in patterns)))


# What Windows adds to the name of a program.
_PROGRAM_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com)\Z", re.IGNORECASE)
_BARE = {"Bash": "shell", "Edit": "write", "Read": "read", "WebFetch": "url"}
_OWN_NAMES = ("shell", "write", "read", "url", "memory")


def deny_patterns(rules: Iterable[str], root: str, home: str) -> tuple[str, ...]:
    """Values of `--deny-tool` for our deny rules (`copilot help permissions`).

    A malformed pattern would keep Copilot from starting, so a rule that might become one is left out.
    """
    return tuple(dict.fromkeys(pattern for rule in rules for pattern in _deny_pattern(rule, root, home)))


def _deny_pattern(rule: str, root: str, home: str) -> list[str]:
    name, _, inner = rule.removesuffix(")").partition("(")
    if rule.startswith("mcp__"):
        server, _, tool = rule[5:].partition("__")
        return [f"{server}({tool})" if tool.strip("*") else server] if server not in _OWN_NAMES else []
    if not inner:
        return [_BARE[name]] if name in _BARE else []
    if name == "Bash":
        words = re.sub(r":\*$", " *", inner).split()
        is_open = words[-1:] == ["*"]
        words = words[:-1] if is_open else words
        is_plain = all(re.fullmatch(r"[\w./@=+,%-]+", word, re.ASCII) for word in words)
        return ["shell" if not words else f"shell({' '.join(words)}{':*' * is_open})"] if is_plain else []
    if name == "WebFetch":
        host = inner.removeprefix("domain:")
        return [f"url({scheme}://{host})" for scheme in ("https", "http")] if "[" not in host else []
    path = posixpath.join(home, inner[2:]) if inner[:1] == "~" else posixpath.join(root, inner)
    pattern = inner if "/" not in inner else posixpath.normpath(path) + ("/**" if inner[-1] == "/" else "")
    is_path = name in ("Edit", "Read") and re.fullmatch(r"[\w./@=+ *-]+", pattern, re.ASCII)
    return [f"{_BARE[name]}({pattern})"] if is_path else []


def _copilot(environ: Mapping[str, str], project: Collection[Path]) -> Launch:
    program = _which("copilot", environ, project) or _which(str(_github_cli_copy(environ)), environ, project)
    if program is None:
        raise _off_path("copilot", environ, project) or AgentNotFound(NOT_INSTALLED, INSTALL)
    return _launch((program,), environ, project)


def _github_cli_copy(environ: Mapping[str, str]) -> Path:
    """Return the path where `gh copilot` puts the program."""
    data = environ.get("XDG_DATA_HOME") or Path(environ.get(HOME, ""), ".local", "share")
    return Path(data, "gh", "copilot", "copilot")


def _command(agent: str, environ: Mapping[str, str], project: Collection[Path]) -> Launch:
    try:
        name, *arguments = split_command(agent)
    except ValueError as error:
        raise UsageError(INVALID_COMMAND.format(agent, error), "Check its quotes.") from error
    program = _which(name, environ, project)
    if program is None and project and _which(name, environ, ()):
        raise AgentNotFound(PROGRAM_IN_PROJECT.format(name), "Install it elsewhere, for example for your user.")
    if program is None:
        hint = "Check the agent setting (COPILOT_KERNEL_AGENT) and the Jupyter server's PATH, or give the full path."
        raise _off_path(name, environ, project) or AgentNotFound(PROGRAM_NOT_FOUND.format(name), hint)
    return _launch((program, *arguments), environ, project)


def _off_path(name: str, environ: Mapping[str, str], project: Collection[Path]) -> AgentNotFound | None:
    """Return advice about a program that only shells find."""
    found = None if os.path.dirname(name) else find_off_path(name, project, environ)
    return AgentNotFound(f"{NOT_ON_PATH.format(name)}, but at {found}", START_THERE.format(name)) if found else None


def _launch(argv: tuple[str, ...], environ: Mapping[str, str], project: Collection[Path]) -> Launch:
    if missing := missing_interpreter(Path(argv[0]), environ):
        error = _off_path(missing, environ, project) or NOT_ON_PATH.format(missing)
        raise AgentNotFound(CANNOT_START.format(argv[0], error), START_THERE.format(missing))
    name = _PROGRAM_SUFFIX.sub("", Path(argv[0]).name)
    if name.lower() != "copilot":
        return Launch(_direct(argv, environ, project), label=name)
    command = argv if "--acp" in argv else (*argv, "--acp")
    return Launch(_direct(command, environ, project), label="GitHub Copilot CLI", is_copilot=True)


def _direct(argv: tuple[str, ...], environ: Mapping[str, str], project: Collection[Path]) -> tuple[str, ...]:
    """Return the command without a batch file, where possible. Raises AgentNotFound if it cannot be given its
    arguments.
    """
    try:
        return direct_command(argv, {**environ, "PATH": path_outside(project, environ)})
    except (OSError, ValueError) as error:
        raise AgentNotFound(CANNOT_START.format(argv[0], error), NAME_PROGRAM) from error


def _which(name: str, environ: Mapping[str, str], project: Collection[Path]) -> str | None:
    """The program's absolute path, since the agent runs in another folder."""
    name = environ.get(HOME, "") + name[1:] if name.startswith(("~/", f"~{os.sep}")) else name
    if os.path.dirname(name):  # one that is relative to some folder may be anything
        found = which(name) if os.path.isabs(name) else None
        return found if found and not is_foreign(Path(found), project) else None
    return find_outside(name, project, environ)


def _demo(environ: Mapping[str, str]) -> tuple[str, ...]:
    """DEMO_COMMAND is for a demo agent that does more than ours, such as that of the tests."""
    if command := environ.get(DEMO_COMMAND):
        return tuple(split_command(command))
    return sys.executable, "-P", "-m", "copilot_kernel.demo"


def _address(agent: str) -> Launch:
    found = _ADDRESS.fullmatch(agent)
    host, port = (found[1].strip("[]"), int(found[2])) if found else ("", 0)
    if not 0 < port < 65536:
        raise UsageError(INVALID_ADDRESS.format(agent), ADDRESS_FORM)
    return Launch(address=(host, port), label=f"agent at {host}:{port}")


_ADDRESS = re.compile(r"tcp://([^\s/?#@:\[\]]+|\[[0-9a-fA-F:.]+(?:%\w+)?\]):([0-9]{1,5})")
