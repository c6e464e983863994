"""What the sandbox could not hold, at the end of a turn: protected files that were created, or replaced outside.

What Git would run or follow outside is removed if it was created inside; everything else is only reported.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice
from pathlib import Path

from . import standing
from .protected import GIT_REDIRECTIONS, of_git_folder, protected_paths

MAX_PROTECTED = 500
"""Each is a mount, which costs time at every start."""


class Kind(Enum):
    """What happened, as a line for the user."""

    REMOVED = "Removed {}, created in the sandbox: Git would run or follow it outside."
    CREATED = "{} was created in the sandbox. Look at it: programs or agents outside obey it."
    REPLACED = (
        "{} was replaced outside while the agent ran, and not protected from then on: "
        "the agent could change it, too. Look at it."
    )


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
    `standing`). `git_folder` is Git's folder of this project, if that lies elsewhere.
    """

    project: Path
    git_folder: Path | None
    paths: Mapping[Path, str]
    points: tuple[str, ...]
    handover: Path

    def name(self, path: Path) -> str:
        """For the user."""
        return str(path.relative_to(self.project) if path.is_relative_to(self.project) else path)


class Sweep:
    """Looks at what became of `held`. Reads and writes the disk, where the agent may be busy."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self._gone: set[str] = set()
        self._reported: set[Path] = set()

    def replaced(self) -> list[Path]:
        """The protected files that are held no more while something runs inside, until its end. Raises OSError."""
        lost = standing.lost(self.held.handover, set(self.held.points) - self._gone)
        self._gone |= {point for point in lost if not os.path.lexists(point)}
        return [path for path in self.held.paths if os.path.realpath(path) in lost - self._gone]

    def findings(self) -> list[Finding]:
        """What is news since the last time. Raises OSError."""
        return [*self._replaced(), *self._created()]

    def _replaced(self) -> list[Finding]:
        news = [path for path in self.replaced() if path not in self._reported]
        self._reported.update(news)
        return [Finding(self.held.name(path), Kind.REPLACED) for path in news]

    def _created(self) -> list[Finding]:
        found = []
        for path, link in protected(self.held.project, self.held.git_folder).items():
            if self._is_held(path, link) or path in self._reported or _has_only_samples(path):
                continue
            if path.name in GIT_REDIRECTIONS and _is_of_git(path, self.held.git_folder) and _remove(path):
                found.append(Finding(self.held.name(path), Kind.REMOVED))
            else:
                self._reported.add(path)
                found.append(Finding(self.held.name(path), Kind.CREATED))
        return found

    def _is_held(self, path: Path, link: str) -> bool:
        return self.held.paths.get(path) == link and str(path) not in self._gone


def protected(project: Path, git_folder: Path | None) -> dict[Path, str]:
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
