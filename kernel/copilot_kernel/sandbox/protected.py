"""Files of a project that run by themselves, steer agents or belong to Git: found on the disk, compared after a turn.

Mounts keep the agent from changing those that existed when its sandbox was made. They cannot keep it from creating
others; and Linux takes a mount off a file that a program outside replaces by a rename, as many editors do.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path

from ..permissions.paths import MAX_PATH, may_be_protected, protection
from ..programs import real
from ..system.files import READING

MAX_SEARCHED_ENTRIES = 100_000
"""Files and folders that a search looks at; it also runs at the end of each turn."""
MAX_PROTECTED = 500
"""Each is a mount, which costs time at every start. Git's folders come first, then what is nearest to the top."""
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "__pycache__", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
_WORK_TREE = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*\"?([^\"\n;#]+)", re.MULTILINE | re.IGNORECASE)


class Search:
    """Protected paths of `project`, a path without links. Links are not followed.

    A folder in `paths` stands for all that is in it. `missed` are folders that we may not look into, and the project
    itself if there is more than is looked at.
    """

    def __init__(self, project: Path) -> None:
        self.missed: dict[str, None] = {}
        self._left = MAX_SEARCHED_ENTRIES
        git: list[str] = []
        others: list[str] = []
        folders: list[tuple[str, tuple[str, ...]]] = [(str(project), ())]
        for folder, names in folders:
            entries = self._entries(folder)
            if _is_bare({entry.name for entry in entries}):
                git.append(folder)
                continue
            for entry in entries:
                parts = (*names, entry.name)
                if entry.name == ".git":
                    git.append(entry.path)
                elif may_be_protected(entry.name) and _is_protected(parts):
                    others.append(entry.path)
                elif entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, parts))
        found = [*git, *others]
        self.paths = found[:MAX_PROTECTED]
        if self._left <= 0 or len(found) > MAX_PROTECTED:
            self.missed[str(project)] = None

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                found = list(islice(entries, max(0, self._left)))
        except FileNotFoundError:
            return []
        except OSError:
            self.missed[folder] = None
            return []
        self._left -= len(found)
        return found


def _is_protected(parts: tuple[str, ...]) -> bool:
    """Return True if the path of these parts is read-only in a sandbox. The project's own secrets may be changed."""
    why = protection((*parts, "_"), changes=True)  # with a name below it, only whole rows of names count
    return why not in (None, "may hold secrets", "belongs to Git")


def _is_bare(names: Collection[str]) -> bool:
    """Return True if Git takes a folder with these `names` in it for a repository."""
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"}.issubset(names))


def common_git_folder(project: Path) -> Path | None:
    """Return Git's folder elsewhere of a work tree or submodule; None if there is none.

    The file `.git` may be anyone's: what it names must be a repository that names this project itself.
    """
    with suppress(OSError, ValueError):
        named = _text_of(project / ".git").removeprefix("gitdir:").strip()
        own = real(project / named)
        if (own / "commondir").is_file():
            back = Path(_text_of(own / "gitdir").strip())
            common = real(own / _text_of(own / "commondir").strip())
            is_ours = real(own / back) == project / ".git" and own.parent == common / "worktrees"
        else:
            tree = _WORK_TREE.search(_text_of(own / "config"))
            is_ours = tree is not None and real(own / tree[1].strip()) == project and "modules" in own.parts
            common = own
        if is_ours and (common / "objects").is_dir() and (common / "HEAD").is_file():
            return common
    return None


def _text_of(path: Path) -> str:
    """The beginning of a file that the agent may have made; does not wait for what is no file. Raises OSError."""
    descriptor = os.open(path, READING)
    try:
        return os.read(descriptor, MAX_PATH).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


# -- comparison ----------------------------------------------------------------------------------------------------


class Kind(Enum):
    """Kind of change, as a line for the user."""

    NEW = "New since the agent was started: {}. Review what is there: Git, editors or other agents act on it."
    CHANGED = (
        "Changed since the agent was started, perhaps by the agent: {}. Review what is there. It may no longer be "
        "protected, so the next prompt restarts the agent, unless other conversations on the server use it."
    )
    PARTIAL = "Not all protected files could be compared: too many, or unreadable, in {}."


class Comparison:
    """`states` are the protected paths, with what was there the last time: at first when the sandbox was made.

    `is_changed`: from then on, the agent may write to one of them.
    """

    def __init__(self, project: Path, states: Mapping[str, str]) -> None:
        self.project, self.states, self.is_changed = project, states, False
        self._missed: set[str] = set()

    def compare(self) -> dict[Kind, list[str]]:
        """Return changes since the last comparison, as names for the user. Reads the disk."""
        search, before = Search(self.project), self.states
        self.states = states_of((*before, *search.paths))
        new = [path for path, state in self.states.items() if state and not before.get(path)]
        changed = [path for path, state in self.states.items() if state and before.get(path) not in ("", None, state)]
        missed = [folder for folder in search.missed if folder not in self._missed]
        self._missed.update(missed)
        self.is_changed |= bool(changed)
        found = {Kind.NEW: new, Kind.CHANGED: changed, Kind.PARTIAL: missed}
        return {kind: [self._name(path) for path in paths] for kind, paths in found.items() if paths}

    def _name(self, path: str) -> str:
        return "the project" if path == str(self.project) else os.path.relpath(path, self.project)


def states_of(paths: Iterable[str]) -> dict[str, str]:
    """Return the state at each path: it differs after a replacement or a write to a file; empty if nothing is there.

    The content of a folder does not count: the mount stays in place when it changes outside, as Git's folder does at
    each commit.
    """
    return {path: _state_of(path) for path in paths}


def _state_of(path: str) -> str:
    try:
        state = os.stat(path)
    except OSError:
        return "unknown" if os.path.lexists(path) else ""
    # Inodes are used again, and times of a folder change with what is in it.
    file = () if stat.S_ISDIR(state.st_mode) else (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return repr((state.st_dev, state.st_ino, *file))
