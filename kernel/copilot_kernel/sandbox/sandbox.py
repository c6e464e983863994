"""Put the sandbox of one agent together: what exists inside, what the agent may change, and what it must not learn.

The system is read-only, the home folder empty but for what is listed here, the project writable but for its protected
files. What is not listed does not exist inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from ..config import Settings
from . import srt
from .layout import Layout
from .mounts import Access
from .probe import ALONE, BUBBLEWRAP, SandboxTools, SandboxUnavailable, find_tools, try_bubblewrap, try_command
from .protected import Comparison, Search, common_git_folder, states_of

SUMMARY = "can write only in this project; Git is read-only"
MAX_NAMED_HOSTS = 8
# Variables that lead to services outside: sockets, Jupyter's tokens, the settings of this kernel.
_WITHHELD = re.compile(
    r"(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_.*|DOCKER_.*|CONTAINER_HOST|XDG_RUNTIME_DIR|WAYLAND_DISPLAY"
    r"|XAUTHORITY|(?:JUPYTER|JPY|CONFIGPROXY|KG|EG).*|COPILOT_KERNEL_(?!DEMO).*)"
)
# Git writes nothing when it only reads.
_ADDED = {"GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`prefix` makes it. `handover` is a folder that we write to and that can be read inside."""

    prefix: tuple[str, ...]
    handover: Path
    comparison: Comparison
    # How far the agent reaches, in words.
    summary: str = SUMMARY
    # Of programs outside that make the sandbox; None: that of the command, since there are none but bubblewrap.
    outer: Mapping[str, str] | None = None

    def command(self, argv: Sequence[str], cwd: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        """`argv`, to be run inside in the folder `cwd`, with `environ`."""
        changed = () if self.outer is None else _changes(self.outer, _passed(environ))
        return (*self.prefix, "--chdir", cwd, "--", *changed, *argv)

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return `environ` without what leads outside, or is for programs outside.

        bubblewrap gets no more: its own environment can be read inside.
        """
        return _passed(environ) if self.outer is None else dict(self.outer)


def create_sandbox(
    settings: Settings,
    commands: Sequence[Sequence[str]],
    handover: Path,
    hidden: Iterable[str] = (),
    ports: Iterable[int] = (),
) -> Sandbox:
    """A sandbox in the project of `settings`, in which such sandboxes were tried out.

    `commands` are the agent's, and others that it starts. `hidden`: files and folders of our own that are not for the
    agent. `ports`: of loopback, which it needs besides the hosts that are listed. Reads the disk, and makes private
    folders. Raises SandboxUnavailable and OSError.
    """
    layout = Layout(settings, settings.agent_environ)
    tools = find_tools(settings.sandbox_hosts, settings.environ, layout.writable)
    hosts = (*(settings.sandbox_hosts or ()), *(f"127.0.0.1:{port}" for port in ports))
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(_try, tools, settings.sandbox_hosts, settings.environ)
        sandbox = _made(layout, tools, hosts, commands, handover, hidden)
        trial.result()
        return sandbox


def _made(
    layout: Layout,
    tools: SandboxTools,
    hosts: Sequence[str],
    commands: Sequence[Sequence[str]],
    handover: Path,
    hidden: Iterable[str],
) -> Sandbox:
    layout.add_system(hidden)
    own = layout.add_programs([*commands, *([(tools.srt,)] if tools.srt else [])])  # a JVM inside loads a file of srt's
    layout.add_agent_state(Path(commands[0][0]).name)
    layout.add(handover, Access.READ)
    found = Search(layout.project).paths
    comparison = Comparison(layout.project, states_of((*found, *map(str, own))))
    layout.add_project(common_git_folder(layout.project), found)
    layout.hide(map(Path, layout.settings.absent), handover)
    shown = summary(layout.settings)
    if not tools.bubblewrap:
        layout.add(srt.make_temporary(handover), Access.WRITE)
    arguments = layout.arguments()
    if not tools.srt:
        return Sandbox((tools.bubblewrap, *BUBBLEWRAP, *ALONE, *arguments), handover, comparison, shown)
    prefix = srt.command(tools, hosts, handover, layout.mounts, arguments)
    outer = srt.environment(tools, handover, _passed(layout.settings.environ))
    return Sandbox(prefix, handover, comparison, shown, outer)


def listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - MAX_NAMED_HOSTS
    return ", ".join(names[:MAX_NAMED_HOSTS]) + (f" and {more} more" if more > 0 else "")


def summary(settings: Settings) -> str:
    """Say how far an agent reaches in the sandbox of these settings."""
    hosts = settings.sandbox_hosts
    return SUMMARY if hosts is None else f"{SUMMARY}; network: {listed(hosts) or 'none'}"


def unavailable(settings: Settings) -> SandboxUnavailable | None:
    """Why an agent in this project could not be sandboxed."""
    try:
        layout = Layout(settings, settings.agent_environ)
        tools = find_tools(settings.sandbox_hosts, settings.environ, layout.writable)
        _try(tools, settings.sandbox_hosts, settings.environ)
    except SandboxUnavailable as error:
        return error
    return None


def _try(tools: SandboxTools, hosts: tuple[str, ...] | None, environ: Mapping[str, str]) -> None:
    """Raises SandboxUnavailable."""
    if hosts is None:
        try_bubblewrap(tools.bubblewrap)
    else:
        _try_srt(tools, hosts, frozenset(environ.items()))


@lru_cache(maxsize=8)
def _try_srt(tools: SandboxTools, hosts: tuple[str, ...], environ: frozenset[tuple[str, str]]) -> None:
    """Start a sandbox once; an answer of yes is kept. Raises SandboxUnavailable."""
    with TemporaryDirectory(prefix="copilot-kernel-", dir=srt.SOCKETS) as folder:
        words = (*srt.command(tools, hosts, Path(folder)), "--chdir", "/", "--", "/bin/sh", "-c", ":")
        try_command(words, "srt", srt.environment(tools, Path(folder), dict(environ)))


def _passed(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not _WITHHELD.fullmatch(name)} | _ADDED


def _changes(outer: Mapping[str, str], inner: Mapping[str, str]) -> tuple[str, ...]:
    """The beginning of a command that turns one environment into the other; what is the same may be changed between."""
    removed = chain.from_iterable(("-u", name) for name in outer if name not in inner)
    added = (f"{name}={value}" for name, value in inner.items() if outer.get(name) != value)
    return ("/usr/bin/env", *removed, *added, "/bin/sh", "-c", 'exec "$0" "$@"')
