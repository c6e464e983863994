"""What a sandbox holds, and what can be found out about that later: plain data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from .protected import MAX_FOLDERS

MAX_PROTECTED = 500
"""Each is a mount, which costs time at every start. Git's files come first, then those nearest to the top."""
MAX_COMPARED = 100
"""Files of a folder that tell whether it has changed."""


class Kind(Enum):
    """What happened, as a line for the user."""

    REMOVED = "Removed {}, created in the sandbox: Git would run or follow it outside."
    SET_ASIDE = (
        "Renamed {}: it was created while the agent ran in its sandbox, and Git would run or follow it outside. "
        "If it is yours, rename it back."
    )
    VANISHED = (
        "{} was created while the agent ran in its sandbox, and has been deleted again. If Git ran outside the sandbox "
        "in the meantime, it may have followed that file: check what it did."
    )
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
    KILLED = (
        "{} was killed while its agent ran in a sandbox. "
        "These files have been created or changed since that sandbox started, by the agent or by someone else:"
    )
    UNREAD = "Git could not list the settings of {} in time: files that they name are not protected."
    UNWATCHED = "The Git folders of {} cannot be watched: files that Git would follow are only removed after each turn."
    UNHELD = (
        f"{{}} has more than {MAX_PROTECTED} protected files: the rest are writable, and reported when they change."
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
    `live_mounts`). `git_folder` is Git's folder of this project, if that lies elsewhere, `git_folders` are all of the
    repositories in it. `unsearched` are folders that could not be looked into. `watched` are protected files that no
    mount holds, with what they looked like. `expected` are other paths that may be created: folders of PATH, and what
    Git's settings name; True: to be removed then. `warnings` are for the user.
    """

    project: Path
    git_folder: Path | None
    paths: Mapping[Path, str]
    points: tuple[str, ...] = ()
    handover: Path = Path()
    git_folders: tuple[Path, ...] = ()
    unsearched: tuple[Path, ...] = ()
    watched: Mapping[Path, str] = field(default_factory=dict)
    expected: Mapping[Path, bool] = field(default_factory=dict)
    warnings: tuple[Finding, ...] = ()

    def to_builtins(self) -> Any:
        """As JSON can hold it."""
        return msgspec.to_builtins(self, enc_hook=str)

    @classmethod
    def from_builtins(cls, value: Any) -> Held:
        """Raises ValueError."""
        held = msgspec.convert(value, cls, dec_hook=lambda kind, text: kind(text))
        paths, watched, expected = map(_with_paths, (held.paths, held.watched, held.expected))
        return replace(held, paths=paths, watched=watched, expected=expected)

    def name(self, path: Path) -> str:
        """For the user."""
        return str(path.relative_to(self.project) if path.is_relative_to(self.project) else path)


def _with_paths(values: Mapping[Any, Any]) -> dict[Path, Any]:
    """msgspec converts no keys."""
    return {Path(key): value for key, value in values.items()}


def link_target(path: Path) -> str:
    """Empty if it is no symbolic link."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def looks_of(path: Path) -> str:
    """A digest that changes when the file changes, or some of what is in the folder."""
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
    return hashlib.sha256(repr(found).encode("utf-8", "surrogateescape")).hexdigest()
