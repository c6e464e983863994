"""What the sandbox could not hold, at the end of a turn: protected files that were created, or replaced outside.

What Git would run or follow outside is removed if it was created inside; everything else is only reported.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from . import live_mounts
from .protected import GIT_FILES, GIT_REDIRECTIONS, MAX_FOLDERS, Search
from .removal import remove

MAX_PROTECTED = 500
"""Each is a mount, which costs time at every start. Git's files come first, then those nearest to the top."""
MAX_COMPARED = 100
"""Files of a folder that tell whether it has changed."""
END_SECONDS, POLL_SECONDS = 2.0, 0.01
Looks = tuple[object, ...]


class Kind(Enum):
    """What happened, as a line for the user."""

    REMOVED = "Removed {}, created in the sandbox: Git would run or follow it outside."
    UNREMOVED = "{} was created in the sandbox and could not be removed. Remove it: Git would run or follow it outside."
    CREATED = "{} was created in the sandbox. Look at it: programs or agents outside obey it."
    CHANGED = "{} has changed, and the sandbox does not protect it. Look at it: programs or agents outside obey it."
    REPLACED = (
        "{} was replaced outside while the agent ran, and not protected from then on: "
        "the agent could change it, too. Look at it."
    )
    UNSEARCHED = "{} was made unreadable in the sandbox: it may hide files that programs or agents outside obey."
    CUT = (
        f"{{}} has more than {MAX_FOLDERS:,} folders, or very many files: "
        "beyond them, protected files are neither protected nor reported."
    )
    UNHELD = f"{{}} has more than {MAX_PROTECTED} protected files: the others are only reported when they change."


@dataclass(frozen=True, slots=True)
class Finding:
    """`name` is a path in the project, or a whole one."""

    name: str
    kind: Kind

    def __str__(self) -> str:
        return self.kind.value.format(self.name)


@dataclass(frozen=True, slots=True)
class Held:
    """What a sandbox holds.

    `paths` are the protected files that exist, with what a symbolic link names, which no mount can hold; else nothing.
    `points` are those of them, and of the folders above, that are mounts; `handover` is what names the sandbox (see
    `live_mounts`). `git_folder` is Git's folder of this project, if that lies elsewhere. `absent` are folders of PATH
    that do not exist yet; `unsearched` are folders that could not be looked into. `unheld` are protected files beyond
    MAX_PROTECTED, with what they looked like.
    """

    project: Path
    git_folder: Path | None
    paths: Mapping[Path, str]
    points: tuple[str, ...]
    handover: Path
    absent: tuple[Path, ...] = ()
    unsearched: tuple[Path, ...] = ()
    unheld: Mapping[Path, Looks] = field(default_factory=dict)

    def name(self, path: Path) -> str:
        """For the user."""
        return str(path.relative_to(self.project) if path.is_relative_to(self.project) else path)


class Sweep:
    """Looks at what became of `held`. Reads and writes the disk, where the agent may be busy."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self._gone: set[str] = set()
        # What was told already, with what it looked like then.
        self._told: dict[Path, Looks] = dict(held.unheld)
        self._told_of: set[Kind] = set()

    def replaced(self) -> list[Path]:
        """The protected files that are held no more while something runs inside, until its end. Raises OSError."""
        lost = live_mounts.lost(self.held.handover, set(self.held.points) - self._gone)
        self._gone |= {point for point in lost if not os.path.lexists(point)}
        return [path for path in self.held.paths if os.path.realpath(path) in lost - self._gone]

    def findings(self) -> list[Finding]:
        """What is news since the last time, the worst first. Raises OSError."""
        held = self.held
        known = {path.parent for path in held.paths if path.name in GIT_FILES}
        search = Search(held.project, held.git_folder, sorted(known))
        return [*self._replaced(), *self._created(search), *self._unsearched(search)]

    def last_findings(self) -> list[Finding]:
        """`findings`, once nothing runs inside: what bubblewrap has left ends a moment after it. Raises OSError."""
        deadline = time.monotonic() + END_SECONDS
        while live_mounts.is_entered(self.held.handover) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return self.findings()

    def _replaced(self) -> Iterator[Finding]:
        for path in self.replaced():
            if path not in self._told:
                self._told[path] = _looks(path)
                yield self._finding(path, Kind.REPLACED)

    def _created(self, search: Search) -> Iterator[Finding]:
        absent = [path for path in self.held.absent if os.path.lexists(path)]
        for path in (*search.git, *search.others, *absent):
            looks = _looks(path)
            if self._is_held(path) or self._told.get(path) == looks or _has_only_samples(path):
                continue
            is_obeyed = path in search.git and path.name in GIT_REDIRECTIONS and path not in self.held.unheld
            if is_obeyed and remove(path):
                self._told.pop(path, None)
                yield self._finding(path, Kind.REMOVED)
            else:
                again = Kind.CHANGED if path in self._told else Kind.CREATED
                self._told[path] = looks
                yield self._finding(path, Kind.UNREMOVED if is_obeyed else again)

    def _unsearched(self, search: Search) -> Iterator[Finding]:
        for folder in search.unsearched:
            if folder not in self._told and folder not in self.held.unsearched:
                self._told[folder] = ()
                yield self._finding(folder, Kind.UNSEARCHED)
        for kind, is_so in ((Kind.CUT, search.is_cut), (Kind.UNHELD, bool(self.held.unheld))):
            if is_so and kind not in self._told_of:
                self._told_of.add(kind)
                yield Finding("The project", kind)

    def _finding(self, path: Path, kind: Kind) -> Finding:
        return Finding(self.held.name(path), kind)

    def _is_held(self, path: Path) -> bool:
        return self.held.paths.get(path) == _link(path) and str(path) not in self._gone


def protected(search: Search) -> tuple[dict[Path, str], dict[Path, Looks]]:
    """What it has found: what can be held, with what a symbolic link names, and the rest, with what it looks like."""
    paths = (*search.git, *search.others)
    return {path: _link(path) for path in paths[:MAX_PROTECTED]}, {path: _looks(path) for path in paths[MAX_PROTECTED:]}


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _looks(path: Path) -> Looks:
    """What changes when the file changes, or some of what is in the folder."""
    found: list[object] = []
    paths = [path]
    for each in paths:
        try:
            state = os.lstat(each)
            found.append((str(each), state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
            if each.is_dir() and not each.is_symlink() and len(paths) < MAX_COMPARED:
                paths += sorted(each.iterdir())[: MAX_COMPARED - len(paths)]
        except OSError:
            found.append(str(each))
    return tuple(found)


def _has_only_samples(hooks: Path) -> bool:
    """Git's own samples do nothing. False if that cannot be seen."""
    try:
        is_folder = hooks.name == "hooks" and hooks.is_dir() and not hooks.is_symlink()
        return is_folder and all(path.suffix == ".sample" for path in hooks.iterdir())
    except OSError:
        return False
