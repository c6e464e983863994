"""Files of a project that run by themselves, steer agents or belong to Git: found by looking at the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ..permissions.paths import MAX_PATH, may_be_protected, protection
from ..programs import real

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
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, MAX_PATH).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
