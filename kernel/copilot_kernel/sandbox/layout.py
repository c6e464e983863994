"""Layout of one agent's sandbox: the system, its programs, its state, the project."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from .. import programs
from ..config import Settings
from ..environment import HOME
from ..places import state_folder
from ..system.files import account_home
from .mounts import EMPTY_FILE, Access, Mount, arguments, parents, placed
from .probe import SandboxUnavailable

_PATHS = re.compile(r"/[^,;:]+")
# Of the system that writes outside for the user root, whatever the mounts say.
_KERNEL_FILES = ("sys", "sysrq-trigger", "irq", "bus", "fs", "mtrr", "acpi", "scsi", "driver", "dynamic_debug")


class _LeadsOut(SandboxUnavailable):
    """A link in the project names something outside."""


class Layout:
    """Collects what exists inside. Raises SandboxUnavailable if the project is or contains the home folder."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self.settings, self.environ = settings, environ
        self.mounts: list[Mount] = []
        # Folders of this project that stand in the place of others.
        self._private: dict[str, Path] = {}
        self._links: dict[str, str] = {}
        self.home = Path(environ.get(HOME) or settings.environment.home)
        homes = (self.home, settings.environment.home, account_home())
        self._homes = tuple({programs.real(path) for path in homes if path})
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
        """Add a path, if it exists."""
        if path.exists():
            with suppress(_LeadsOut):
                self.mounts.append(Mount(str(self._located(path)), access))

    def add_system(self, hidden: Iterable[str]) -> None:
        """Hide what is private, and what leads to services outside: a read-only socket can be connected to."""
        runtime = self.settings.environment.jupyter.runtime
        temporary = (self.environ.get(name) for name in ("TMPDIR", "XDG_RUNTIME_DIR"))
        folders = (*temporary, "/tmp", "/var/tmp", "/run", runtime, str(state_folder(self.settings)))
        sockets = _named_sockets(self.environ) - set(self.writable)
        for path in (*self._homes, *map(Path, filter(None, folders)), *map(Path, hidden), *sorted(sockets)):
            if path.exists():
                source = "" if path.is_dir() else EMPTY_FILE
                self.mounts.append(Mount(str(self._located(path)), Access.HIDDEN, source))
        self.add(Path("/etc/resolv.conf"), Access.READ)  # may lead to /run
        self.add(self.home / ".gitconfig", Access.READ)
        for place in self.settings.sandbox_read:
            self.add(Path(self.settings.environment.expanded(place)), Access.READ)
        self.mounts += (
            Mount(f"/proc/{name}", Access.READ, f"/proc/{name}")
            for name in _KERNEL_FILES
            if Path("/proc", name).exists()
        )

    def add_programs(self, commands: Sequence[Sequence[str]]) -> tuple[Path, ...]:
        """Add what these command lines name, and Python with this package. Returns our own code in the project."""
        folder, environ = self.settings.folder, self.environ
        each = (programs.needed_by(argv, folder, environ) for argv in commands)
        needed = (*chain.from_iterable(each), *programs.python_environment())
        around = {self.project, *chain.from_iterable((home, *home.parents) for home in self._homes)}
        shown = [path for path in needed if programs.real(path) not in around]
        own = programs.own_paths(folder, self.settings.environment, commands[0])
        inside = tuple(path for path in own if self.project in path.parents)
        for path in (*shown, *inside):
            self.add(path, Access.READ)
        return inside

    def add_agent_state(self, program: str) -> None:
        """Caches are private to the project: what an agent leaves in them must not run elsewhere."""
        cache = Path(self.environ.get("XDG_CACHE_HOME") or self.home / ".cache")
        unpacked = cache / "copilot" / "pkg"
        self._add_private(cache)
        self.add(unpacked, Access.READ)
        for state in agent_states(program, self.environ, self.home):
            self._add_state(state)

    def add_project(self, git_folder: Path | None, protected: Iterable[str]) -> None:
        """Add the project. Protects what a link leads to, without making anything outside visible."""
        self.mounts += (Mount(str(folder), Access.WRITE) for folder in self.writable)
        if git_folder:
            self.add(git_folder, Access.READ)
        for path in map(programs.real, map(Path, protected)):
            if path.exists() and self.project in (path, *path.parents):
                self.mounts.append(Mount(str(path), Access.READ))

    def hide(self, paths: Iterable[Path], handover: Path) -> None:
        """Hide a path of the project; a file becomes one without settings."""
        empty = handover / "nothing.json"
        empty.write_text("{}\n", "utf-8")
        for path in map(programs.real, paths):
            if path.exists():
                self.mounts.append(Mount(str(path), Access.HIDDEN, "" if path.is_dir() else str(empty)))

    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of bubblewrap, and make what they need.

        Raises OSError, and SandboxUnavailable if something hides the project.
        """
        stricter = (mount for mount in self.mounts if mount.access is not Access.WRITE)
        if any(mount.path == str(self.project) for mount in stricter):
            reason = f"{self.project} holds settings or programs that must not be changed in a sandbox"
            raise SandboxUnavailable(reason, "Work in another folder.")
        found = placed(self.mounts)
        self._make_points(found)
        return tuple(arguments(found, self._links))

    def _add_state(self, state: AgentState) -> None:
        folder = self._located(state.folder)
        for name in state.written:
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        paths = [path for path in folder.iterdir() if path.name not in state.own] if folder.is_dir() else []
        self._add_private(folder)
        for path in paths:
            if path.exists():
                access = Access.WRITE if path.name in state.written else Access.READ
                self.mounts.append(Mount(str(path), access, str(programs.real(path))))

    def _add_private(self, folder: Path) -> None:
        """A folder of this project stands in its place."""
        key = hashlib.sha256(f"{self.project}\0{folder}".encode()).hexdigest()[:24]
        private = state_folder(self.settings) / "sandbox" / key
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._private[located := str(self._located(folder))] = programs.real(private)
        self.mounts.append(Mount(located, Access.WRITE, str(self._private[located])))

    def _make_points(self, placed: Mapping[str, Mount]) -> None:
        """Make what private folders need as mount points.

        bubblewrap would follow links of the agent's to make that, also outside. Raises OSError.
        """
        for path, mount in placed.items():
            target = next((folder for folder in parents(path) if folder in self._private), None)
            source = Path(mount.source or mount.path)
            if target and not source.is_relative_to(self._private[target]):  # else it is only above others
                is_folder = source.is_dir() or mount == Mount(path, Access.HIDDEN)
                _make(self._private[target], Path(path).relative_to(target).parts, is_folder=is_folder)

    def _located(self, path: Path) -> Path:
        """Return the path without links; those on the way exist inside, too."""
        try:
            real, links = programs.links_of(Path(self.settings.environment.expanded(str(path))))
        except OSError as error:
            raise SandboxUnavailable(f"It is not known where {path} leads ({error})") from error
        is_ours = real.is_relative_to(self.project) or not any(self.project in Path(link).parents for link in links)
        if not is_ours:
            raise _LeadsOut(f"{path} leads out of the project by a symbolic link that an agent may have made")
        self._links |= links
        return real


def _make(folder: Path, names: Sequence[str], *, is_folder: bool) -> None:
    """Have a folder or a file at the path of these names in `folder`. What an agent left in the way is removed."""
    path = folder
    for number, name in enumerate(names, 1):
        path, is_way = path / name, is_folder or number < len(names)
        if not path.is_symlink() and (path.is_dir() if is_way else path.is_file()):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if is_way:
            path.mkdir(mode=0o700)
        else:
            path.touch(mode=0o600)


def _named_sockets(environ: Mapping[str, str]) -> set[Path]:
    """Unix sockets that variables name: as a path, an address (`unix:///path`, D-Bus `unix:path=…`), or in a list."""
    texts = [unquote(value) for value in environ.values() if "/" in value]
    named = {*texts, *chain.from_iterable(map(_PATHS.findall, texts))}
    paths = (Path("/", name.lstrip("/")) for name in named)
    return {programs.real(path) for path in paths if _is_socket(path)}


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:  # what a variable holds may be no path at all, and too long for one
        return False


# -- where known agents keep their state ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentState:
    """One folder. Inside, a private folder of the project takes its place.

    Of the user's entries, `written` (sessions and logs) are shared and writable, `own` are absent, and all others that
    exist are read-only.
    """

    folder: Path
    written: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def agent_states(program: str, environ: Mapping[str, str], home: Path) -> tuple[AgentState, ...]:
    """Return the state folders of the agent whose program has this name; empty for an unknown one."""

    def place(variable: str, default: str, below: str = "") -> Path:
        chosen = environ.get(variable)
        return Path(chosen, below) if chosen else home / default / below

    match program:
        case "copilot" | "copilot-linux-x64" | "copilot-linux-arm64":
            folder = place("COPILOT_HOME", ".copilot")
            return (AgentState(folder, ("session-state", "logs"), ("settings.json.lock",)),)
        case "gemini":
            folder = Path(environ.get("GEMINI_CLI_HOME", home), ".gemini")
            return (AgentState(folder, ("tmp", "history"), ("projects.json",)),)
        case "opencode":
            return (
                AgentState(
                    place("XDG_DATA_HOME", ".local/share", "opencode"),
                    ("log",),
                    ("opencode.db", "opencode.db-shm", "opencode.db-wal", "storage", "snapshot", "bin"),
                ),
                AgentState(place("XDG_CONFIG_HOME", ".config", "opencode")),
                AgentState(place("XDG_STATE_HOME", ".local/state", "opencode"), own=("locks",)),
            )
    return ()
