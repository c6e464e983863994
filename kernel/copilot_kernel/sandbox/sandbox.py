"""Put the sandbox of one agent together: what exists inside, what the agent may change, and what it must not learn.

The system is read-only, the home folder empty but for what is listed here, the project writable but for its protected
files. What is not listed does not exist inside.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from ..config import Settings, state_folder
from . import programs, srt
from .agents import AgentState, agent_states
from .mounts import NOTHING, Access, Mount, arguments
from .probe import ALONE, BUBBLEWRAP, SandboxUnavailable, Tools, find_tools, try_bubblewrap, try_command
from .protected import GIT_REDIRECTIONS, common_git_folder, of_git_folder, protected_paths, why_protected

MAX_PROTECTED = 500
"""Each is a mount, which costs time at every start."""
SUMMARY = "can write only in this project"
MAX_NAMED = 4
WITHOUT = "Do it yourself in a terminal, or set COPILOT_KERNEL_SANDBOX=off and restart the kernel."
# Variables that lead to services outside: sockets, Jupyter's tokens, the settings of this kernel.
_WITHHELD = re.compile(
    r"(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_.*|DOCKER_.*|CONTAINER_HOST|XDG_RUNTIME_DIR|WAYLAND_DISPLAY"
    r"|XAUTHORITY|(?:JUPYTER|JPY|CONFIGPROXY|KG|EG).*|COPILOT_KERNEL_(?!DEMO).*)"
)
# Of the system that writes outside for the user root, whatever the mounts say.
_KERNEL_FILES = ("sys", "sysrq-trigger", "irq", "bus", "fs", "mtrr", "acpi", "scsi", "driver", "dynamic_debug")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`prefix` comes before a command; `handover` is a folder that we write to and that can be read inside."""

    prefix: tuple[str, ...]
    project: Path
    handover: Path
    # The protected files that exist; what a symbolic link names, which no mount can hold, else nothing.
    held: Mapping[Path, str]
    # How far the agent reaches, in words.
    summary: str = SUMMARY
    # Git's folder of this project, if that lies elsewhere.
    git_folder: Path | None = None
    # Of programs outside that make the sandbox; None: that of the command, since there are none but bubblewrap.
    outer: Mapping[str, str] | None = None
    _reported: set[Path] = field(default_factory=set)

    def command(self, argv: Sequence[str], cwd: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """`argv`, to be run inside in the folder `cwd`, with `environ`."""
        changed = () if self.outer is None else _changes(self.outer, _passed(environ))
        return (*self.prefix, "--chdir", cwd, "--", *changed, *argv)

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """What the command is started with: `environ` without what leads outside, or what is for programs outside.

        bubblewrap gets no more: its own environment can be read inside.
        """
        return _passed(environ) if self.outer is None else dict(self.outer)

    def refuses(self, path: str) -> str:
        """Why `path`, which may be relative to the project, is not written inside; empty if it is, or not in here."""
        whole = programs.real(self.project / path)
        parts = whole.relative_to(self.project).parts if whole.is_relative_to(self.project) else ()
        why = why_protected(parts) if parts else None
        is_held = any(held == whole or held in whole.parents for held in self.held)
        return f"to change `{path}`: it {why or 'is protected'}" if is_held else ""

    def sweep(self) -> list[str]:
        """Remove what Git would now run or follow, of what was created since the start; lines for the user.

        Reads and writes the disk, where the agent may be busy. Other protected files that were created are only
        reported. Raises OSError.
        """
        lines = []
        for path, link in _protected(self.project, self.git_folder).items():
            if self.held.get(path) == link or path in self._reported or _has_only_samples(path):
                continue
            name = path.relative_to(self.project) if path.is_relative_to(self.project) else path
            if path.name in GIT_REDIRECTIONS and _is_of_git(path, self.git_folder) and _remove(path):
                lines.append(f"Removed {name}, created in the sandbox: Git would run or follow it outside.")
            else:
                self._reported.add(path)
                lines.append(f"{name} was created in the sandbox. Look at it: programs or agents outside obey it.")
        return lines


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
    folders. Raises SandboxUnavailable.
    """
    layout = _Layout(settings, environ)
    tools = find_tools(settings.sandbox_hosts, environ, layout.writable)
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(_try, tools, settings.sandbox_hosts)
        hosts = (*(settings.sandbox_hosts or ()), *(f"127.0.0.1:{port}" for port in ports))
        sandbox = _made(layout, tools, hosts, commands, handover, hidden)
        trial.result()
    return sandbox


def _made(
    layout: _Layout,
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
    _make_hooks(layout.project / ".git", git_folder)
    held = _protected(layout.project, git_folder)
    if len(held) > MAX_PROTECTED:
        raise SandboxUnavailable(f"The project has more than {MAX_PROTECTED} protected files", "Work in a part of it.")
    layout.add_project(git_folder, held)
    shown = summary(layout.settings)
    if not tools.srt:
        prefix = (tools.bubblewrap, *BUBBLEWRAP, *ALONE, *layout.arguments())
        return Sandbox(prefix, layout.project, handover, held, shown, git_folder)
    if not tools.bubblewrap:
        layout.add(srt.make_temporary(handover), Access.WRITE)
    prefix = srt.command(tools, hosts, handover, layout.mounts, layout.arguments())
    outer = srt.environment(tools, handover, _passed(layout.environ))
    return Sandbox(prefix, layout.project, handover, held, shown, git_folder, outer)


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
        layout = _Layout(settings, environ)
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


class _LeadsOut(SandboxUnavailable):
    """A link in the project names something outside."""


class _Layout:
    """Collects what exists inside. Raises SandboxUnavailable if the project is or contains the home folder."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self.settings, self.environ = settings, environ
        self.mounts: list[Mount] = []
        self._links: dict[str, str] = {}
        self.home = Path(environ.get("HOME") or os.path.expanduser("~"))
        self._homes = tuple({programs.real(path) for path in (self.home, Path(pwd.getpwuid(os.getuid()).pw_dir))})
        self.project = programs.real(Path(settings.folder))
        self._located(Path(settings.folder))
        self.writable = (self.project, *map(self._located, map(Path, settings.sandbox_write)))
        for folder in self.writable:
            if home := next((home for home in self._homes if home.is_relative_to(folder)), None):
                raise SandboxUnavailable(
                    f"{folder} is or contains the home folder {home}, so it cannot be made writable in a sandbox",
                    "Open the notebook from a folder of its own, or set COPILOT_KERNEL_CWD to one.",
                )

    def add(self, path: Path, access: Access) -> None:
        """Nothing, if it does not exist."""
        if path.exists():
            with suppress(_LeadsOut):
                self.mounts.append(Mount(str(self._located(path)), access))

    def add_system(self, hidden: Iterable[str]) -> None:
        """Hide what is private, and what leads to services outside: a read-only socket can be connected to."""
        from jupyter_core.paths import jupyter_runtime_dir

        temporary = (self.environ.get(name) for name in ("TMPDIR", "XDG_RUNTIME_DIR"))
        folders = (*temporary, "/tmp", "/var/tmp", "/run", jupyter_runtime_dir(), str(state_folder(self.settings)))
        for path in (*self._homes, *map(Path, filter(None, folders)), *map(Path, hidden)):
            if path.exists():
                source = "" if path.is_dir() else NOTHING
                self.mounts.append(Mount(str(self._located(path)), Access.HIDDEN, source))
        self.add(Path("/etc/resolv.conf"), Access.READ)  # may lead to /run
        self.add(self.home / ".gitconfig", Access.READ)
        for place in self.settings.sandbox_read:
            self.add(Path(place).expanduser(), Access.READ)
        self.mounts += (Mount(f"/proc/{name}", Access.READ, f"/proc/{name}") for name in _kernel_files())

    def add_programs(self, commands: Sequence[Sequence[str]]) -> None:
        """What these command lines name, and Python with this package."""
        each = (programs.needed_by(argv, self.settings.folder, self.environ) for argv in commands)
        for path in (*chain.from_iterable(each), *programs.python_environment()):
            if not any(home.is_relative_to(programs.real(path)) for home in self._homes):
                self.add(path, Access.READ)
        for folder in map(Path, self.environ.get("PATH", "").split(os.pathsep)):
            if folder.is_absolute() and self.project in programs.real(folder).parents:
                self.add(folder, Access.READ)

    def add_agent_state(self, program: str) -> None:
        """Caches are private to the project: what an agent leaves in them must not run elsewhere."""
        cache = Path(self.environ.get("XDG_CACHE_HOME") or self.home / ".cache")
        unpacked = cache / "copilot" / "pkg"
        self._add_private(cache, [Path("copilot"), Path("copilot/pkg")])
        self.add(unpacked, Access.READ)
        for state in agent_states(program, self.environ, self.home):
            self._add_state(state)

    def add_project(self, git_folder: Path | None, held: Iterable[Path]) -> None:
        """What is held where it really is; a link of the agent's must not make anything outside visible."""
        for folder in (*self.writable, *filter(None, [git_folder])):
            self.mounts.append(Mount(str(folder), Access.WRITE))
        folders = {self.project, *filter(None, [git_folder])}
        for path in map(programs.real, held):
            if path.exists() and not folders.isdisjoint(path.parents):
                self.mounts.append(Mount(str(path), Access.READ))

    def arguments(self) -> tuple[str, ...]:
        """Raises SandboxUnavailable if something hides the project."""
        stricter = (mount for mount in self.mounts if mount.access is not Access.WRITE)
        if any(mount.path == str(self.project) for mount in stricter):
            reason = f"{self.project} holds settings or programs that must not be changed in a sandbox"
            raise SandboxUnavailable(reason, "Work in another folder.")
        return tuple(arguments(self.mounts, self._links))

    def _add_state(self, state: AgentState) -> None:
        folder = self._located(state.folder)
        for name in state.written:
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        paths = [path for path in folder.iterdir() if path.name not in state.own] if folder.is_dir() else []
        self._add_private(folder, [Path(path.name) for path in paths])
        for path in paths:
            if path.exists():
                access = Access.WRITE if path.name in state.written else Access.READ
                self.mounts.append(Mount(str(path), access, str(programs.real(path))))

    def _add_private(self, folder: Path, shared: Iterable[Path]) -> None:
        """A folder of this project stands in its place, in which `shared` are mounted; links there are the agent's.

        bubblewrap would follow them to make mount points, also outside.
        """
        key = hashlib.sha256(f"{self.project}\0{folder}".encode()).hexdigest()[:24]
        private = state_folder(self.settings) / "sandbox" / key
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        for planted in (private / path for path in shared):
            if planted.is_symlink():
                planted.unlink()
        self.mounts.append(Mount(str(self._located(folder)), Access.WRITE, str(private)))

    def _located(self, path: Path) -> Path:
        """Without links; those on the way exist inside, too."""
        try:
            real, links = programs.links_of(path.expanduser())
        except OSError as error:
            raise SandboxUnavailable(f"It is not known where {path} leads ({error})") from error
        is_ours = real.is_relative_to(self.project) or not any(self.project in Path(link).parents for link in links)
        if not is_ours:
            raise _LeadsOut(f"{path} leads out of the project by a symbolic link that an agent may have made")
        self._links |= links
        return real


def _make_hooks(*git_folders: Path | None) -> None:
    """What does not exist cannot be held. `git init` makes the folder, too."""
    for folder in filter(None, git_folders):
        with suppress(OSError):
            if (folder / "HEAD").is_file() and not folder.is_symlink():
                (folder / "hooks").mkdir(exist_ok=True)


def _kernel_files() -> Iterator[str]:
    return (name for name in _KERNEL_FILES if Path("/proc", name).exists())


def _protected(project: Path, git_folder: Path | None) -> dict[Path, str]:
    """With what a symbolic link names. Raises OSError."""
    found = chain(protected_paths(project), of_git_folder(git_folder, project) if git_folder else ())
    return {path: os.readlink(path) if path.is_symlink() else "" for path in islice(found, MAX_PROTECTED + 1)}


def _is_of_git(path: Path, git_folder: Path | None) -> bool:
    return ".git" in path.parent.parts or path.parent == git_folder


def _has_only_samples(hooks: Path) -> bool:
    """Git's own samples do nothing."""
    is_folder = hooks.name == "hooks" and hooks.is_dir() and not hooks.is_symlink()
    return is_folder and all(path.suffix == ".sample" for path in hooks.iterdir())


def _remove(path: Path) -> bool:
    """Follow no link on the way, since the agent may exchange folders meanwhile. False if that fails."""
    opened = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in path.parent.parts[1:]:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = inner
        if stat.S_ISDIR(os.stat(path.name, dir_fd=opened, follow_symlinks=False).st_mode):
            shutil.rmtree(path.name, dir_fd=opened)
        else:
            os.unlink(path.name, dir_fd=opened)
    except OSError:
        return False
    finally:
        os.close(opened)
    return True
