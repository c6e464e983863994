"""Put the sandbox of one agent together: what exists inside, what the agent may change, and what it must not learn.

The system is read-only, the home folder empty but for what is listed here, the project writable but for its protected
files. What is not listed does not exist inside.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from .. import programs
from ..config import Settings, state_folder
from . import leftovers, mount_check, mountinfo, srt
from .git_settings import GitSettings, Named, Repository
from .held import MAX_PROTECTED, Finding, Held, Kind, link_target, looks_of
from .layout import Layout
from .leftovers import Record
from .mounts import Access
from .probe import ALONE, BUBBLEWRAP, SandboxUnavailable, Tools, find_tools, try_bubblewrap, try_command
from .protected import Search, common_git_folder, why_protected
from .removal import opened
from .sweep import Sweep

SUMMARY = "can write only in this project"
MAX_NAMED = 4
WITHOUT = "Do it yourself in a terminal, or set COPILOT_KERNEL_SANDBOX=off and restart the kernel."
# Variables that lead to services outside: sockets, Jupyter's tokens, the settings of this kernel.
_WITHHELD = re.compile(
    r"(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_.*|DOCKER_.*|CONTAINER_HOST|XDG_RUNTIME_DIR|WAYLAND_DISPLAY"
    r"|XAUTHORITY|(?:JUPYTER|JPY|CONFIGPROXY|KG|EG).*|COPILOT_KERNEL_(?!DEMO).*)"
)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`prefix` makes it, `entry` then runs a command inside if it is what was meant; `sweep` looks at what it holds."""

    prefix: tuple[str, ...]
    sweep: Sweep
    entry: tuple[str, ...] = ()
    # How far the agent reaches, in words.
    summary: str = SUMMARY
    # Of programs outside that make the sandbox; None: that of the command, since there are none but bubblewrap.
    outer: Mapping[str, str] | None = None
    record: Record | None = None

    @property
    def project(self) -> Path:
        """In which the agent works."""
        return self.sweep.held.project

    @property
    def handover(self) -> Path:
        """A folder that we write to and that can be read inside."""
        return self.sweep.held.handover

    def command(self, argv: Sequence[str], cwd: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """`argv`, to be run inside in the folder `cwd`, with `environ`."""
        changed = () if self.outer is None else _changes(self.outer, _passed(environ))
        return (*self.prefix, "--chdir", cwd, "--", *self.entry, *changed, *argv)

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """What the command is started with: `environ` without what leads outside, or what is for programs outside.

        bubblewrap gets no more: its own environment can be read inside.
        """
        return _passed(environ) if self.outer is None else dict(self.outer)

    def close(self) -> None:
        """Nothing runs inside any more, and what was created there is known."""
        if self.record:
            self.record.remove()

    def refuses(self, path: str) -> str:
        """Why `path`, which may be relative to the project, is not written inside; empty if it is, or not in here."""
        try:
            whole = programs.real(self.project / path)
        except ValueError:  # no path at all
            return ""
        parts = whole.relative_to(self.project).parts if whole.is_relative_to(self.project) else ()
        why = why_protected(parts) if parts else None
        is_held = any(held == whole or held in whole.parents for held in self.sweep.held.paths)
        return f"to change `{path}`: it {why or 'is protected'}" if is_held else ""


def raise_sandbox(
    settings: Settings,
    commands: Sequence[Sequence[str]],
    handover: Path,
    hidden: Iterable[str] = (),
    ports: Iterable[int] = (),
    environ: Mapping[str, str] = os.environ,
) -> Sandbox:
    """A sandbox in the project of `settings`, in which such sandboxes were tried out.

    `commands` are the agent's, and others that it starts. `hidden`: files and folders of our own that are not for the
    agent. `ports`: of loopback, which it needs besides the hosts that are listed. Reads the disk, and makes private
    folders. What was created in earlier sandboxes whose kernel was killed is dealt with first, and reported by the
    sweep. Close the sandbox when the agent has ended. Raises SandboxUnavailable and OSError.
    """
    layout = Layout(settings, environ)
    records = state_folder(settings) / "sandbox" / "running"
    tools = find_tools(settings.sandbox_hosts, environ, layout.writable)
    with leftovers.locked(records), ThreadPoolExecutor(1) as pool:
        left = leftovers.sweep(records, layout.project)
        trial = pool.submit(_try, tools, settings.sandbox_hosts)
        hosts = (*(settings.sandbox_hosts or ()), *(f"127.0.0.1:{port}" for port in ports))
        sandbox = _made(layout, tools, hosts, commands, handover, hidden)
        trial.result()
        held = sandbox.sweep.held
        held = replace(held, warnings=(*left, *held.warnings))
        return replace(sandbox, sweep=Sweep(held), record=Record.create(records, held))


def _made(
    layout: Layout,
    tools: Tools,
    hosts: Sequence[str],
    commands: Sequence[Sequence[str]],
    handover: Path,
    hidden: Iterable[str],
) -> Sandbox:
    layout.add_system(hidden)
    layout.add_programs([*commands, *([(tools.srt,)] if tools.srt else [])])  # a JVM inside loads a file of srt's
    layout.add_agent_state(Path(commands[0][0]).name)
    layout.add(handover, Access.READ)
    git_folder = common_git_folder(layout.project)
    held = _held(layout, git_folder)
    layout.add_project(git_folder, held.paths)
    layout.hide(map(Path, layout.settings.absent), handover)
    shown = summary(layout.settings)
    if not tools.bubblewrap:
        layout.add(srt.make_temporary(handover), Access.WRITE)
    placement = layout.place()
    held = replace(held, points=placement.points, handover=handover)
    entry = mount_check.write(handover, placement.mounts, mountinfo.read()) if tools.bubblewrap else ()
    if not tools.srt:
        return Sandbox((tools.bubblewrap, *BUBBLEWRAP, *ALONE, *placement.arguments), Sweep(held), entry, shown)
    prefix = srt.command(tools, hosts, handover, layout.mounts, placement.arguments)
    outer = srt.environment(tools, handover, _passed(layout.environ))
    return Sandbox(prefix, Sweep(held), entry, shown, outer)


def _held(layout: Layout, git_folder: Path | None) -> Held:
    """What is protected, before anything is mounted."""
    project = layout.project
    search = Search(project, git_folder)
    named = _named_by_git(layout, search.repositories, git_folder)
    found = dict.fromkeys((*search.git, *_make_hooks(search.repositories), *named.files, *search.others))
    # What an agent has made deep in the project must not crowd out the user's own.
    paths = sorted(filter(os.path.lexists, found), key=lambda path: (path not in named.files, _depth(path)))
    rest = paths[MAX_PROTECTED:]
    warnings = [Finding("The project", Kind.UNHELD)] if rest else []
    held = Held(
        project,
        git_folder,
        {path: link_target(path) for path in paths[:MAX_PROTECTED]},
        git_folders=tuple(repository.git_folder for repository in search.repositories),
        unsearched=tuple(search.unsearched),
        watched={path: looks_of(path) for path in (*rest, *named.links)},
        expected=named.files,
    )
    if named.unreadable:
        names = [held.name(folder) for folder in named.unreadable[:MAX_NAMED]]
        more = len(named.unreadable) - len(names)
        warnings.append(Finding(", ".join(names) + (f" and {more} more" if more else ""), Kind.UNREAD))
    return replace(held, warnings=tuple(warnings))


def _depth(path: Path) -> int:
    """What `.git` holds counts as if it were beside it."""
    return len(path.parts) - (".git" in path.parts)


def _named_by_git(layout: Layout, repositories: Sequence[Repository], git_folder: Path | None) -> Named:
    """Without Git, nothing obeys its settings."""
    git = programs.find_outside("git", layout.writable, layout.environ)
    folders = (layout.project, *filter(None, [git_folder]))
    return GitSettings(git, layout.environ).named(repositories, folders) if git else Named()


def summary(settings: Settings) -> str:
    """How far an agent reaches in the sandbox of these settings."""
    hosts = settings.sandbox_hosts
    if hosts is None:
        return SUMMARY
    more = f" and {len(hosts) - MAX_NAMED} more" if len(hosts) > MAX_NAMED else ""
    return f"{SUMMARY}; network: {', '.join(hosts[:MAX_NAMED]) or 'none'}{more}"


def unavailable(settings: Settings, environ: Mapping[str, str] = os.environ) -> SandboxUnavailable | None:
    """Why an agent in this project could not be sandboxed."""
    try:
        layout = Layout(settings, environ)
        _try(find_tools(settings.sandbox_hosts, environ, layout.writable), settings.sandbox_hosts)
    except SandboxUnavailable as error:
        return error
    return None


def _try(tools: Tools, hosts: tuple[str, ...] | None) -> None:
    """Raises SandboxUnavailable."""
    if hosts is None:
        try_bubblewrap(tools.bubblewrap)
    else:
        _try_srt(tools, hosts)


@lru_cache(maxsize=8)
def _try_srt(tools: Tools, hosts: tuple[str, ...]) -> None:
    """Start a sandbox once; an answer of yes is kept. Raises SandboxUnavailable."""
    with TemporaryDirectory(prefix="copilot-kernel-", dir=srt.SOCKETS) as folder:
        words = (*srt.command(tools, hosts, Path(folder)), "--chdir", "/", "--", "/bin/sh", "-c", ":")
        try_command(words, "srt", srt.environment(tools, Path(folder), os.environ))


def _passed(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not _WITHHELD.fullmatch(name)}


def _changes(outer: Mapping[str, str], inner: Mapping[str, str]) -> tuple[str, ...]:
    """The beginning of a command that turns one environment into the other; what is the same may be changed between."""
    removed = chain.from_iterable(("-u", name) for name in outer if name not in inner)
    added = (f"{name}={value}" for name, value in inner.items() if outer.get(name) != value)
    return ("/usr/bin/env", *removed, *added, "/bin/sh", "-c", 'exec "$0" "$@"')


def _make_hooks(repositories: Iterable[Repository]) -> Iterator[Path]:
    """What does not exist cannot be held. `git init` makes the folder, too; other work trees have none of their own."""
    for folder in (each.git_folder for each in repositories if each.git_folder.parent.name != "worktrees"):
        with suppress(OSError), opened(folder) as descriptor:
            if stat.S_ISREG(os.stat("HEAD", dir_fd=descriptor).st_mode):
                os.mkdir("hooks", dir_fd=descriptor)
                yield folder / "hooks"
