"""Files of a project that run by themselves, steer agents, or say what Git runs: found by looking at the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ..permissions.paths import may_be_protected, protection
from ..programs import real
from .git_settings import Repository, text_of

MAX_FOLDERS, MAX_ENTRIES = 4_000, 200_000
"""Of the search, which also runs at the end of each turn; those of Git's own folders count apart."""
MAX_OTHERS = 2_000
"""Protected files that are not Git's."""
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "__pycache__", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
_HARMLESS = ("may hold secrets", "belongs to Git")
"""Secrets of the project may be changed; what belongs to Git is told apart here."""

GIT_FILES = ("config", "config.worktree", "commondir", "gitdir", "hooks")
GIT_REDIRECTIONS = ("hooks", "commondir", "config.worktree")
"""What Git would run or follow, and would not have had there before."""
MAX_MODULE_DEPTH = 8
_WORK_TREE = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*\"?([^\"\n;#]+)", re.MULTILINE | re.IGNORECASE)


def why_protected(parts: tuple[str, ...]) -> str | None:
    """Why the path of these parts, inside the project, is read-only in a sandbox, in words that follow its name."""
    if ".git" in parts:
        inner = parts[len(parts) - parts[::-1].index(".git") :]
        return "says what Git runs" if not inner or any(name in GIT_FILES for name in inner) else None
    why = protection((*parts, "_"), changes=True)  # with a name below it, only whole rows of names count
    return None if why in _HARMLESS else why


_EFFECTIVE = os.access in os.supports_effective_ids


class Search:
    """What there is in `project`, a path without links; a folder stands for all that is in it. Links are not followed.

    `git` says what Git runs, `others` are obeyed by other programs and agents. `unsearched` are folders that we may not
    look into, and `is_cut` says that there is more than is searched. `repositories` are those of Git that it has found.
    `git_folder` is Git's folder of this project, if that lies elsewhere. It and `known`, other folders of Git's, are
    looked at first, so that nothing can hide them.
    """

    def __init__(self, project: Path, git_folder: Path | None = None, known: Iterable[Path] = ()) -> None:
        self.git: dict[Path, None] = {}
        self.others: dict[Path, None] = {}
        self.unsearched: dict[Path, None] = {}
        self.is_cut = False
        self.repositories: list[Repository] = []
        self._seen: set[Path] = set()
        self._left = {"git": (MAX_FOLDERS, MAX_ENTRIES), "": (MAX_FOLDERS, MAX_ENTRIES)}
        self._add_git_entry(project / ".git", project)
        if git_folder:
            self._add_git_folder(git_folder, project)
        for folder in known:
            if real(folder) == folder:
                self._add_git_folder(folder, folder.parent if folder.name == ".git" else folder)
        self._walk(project)

    def _walk(self, project: Path) -> None:
        folders: list[tuple[str, tuple[str, ...]]] = [(str(project), ())]
        for folder, names in folders:
            entries = self._entries(folder)
            inside = {entry.name for entry in entries}
            if ".git" in inside or (self.is_cut and os.path.lexists(f"{folder}/.git")):
                self._add_git_entry(Path(folder, ".git"), Path(folder))
            if "HEAD" in inside and _is_bare(folder, inside):
                self._add_git_folder(Path(folder), Path(folder))
            for entry in entries:
                parts = (*names, entry.name)
                if entry.name == ".git":
                    continue
                if may_be_protected(entry.name) and why_protected(parts):
                    self._add_other(Path(entry.path))
                elif _is_searched(entry):
                    folders.append((entry.path, parts))

    def _add_other(self, path: Path) -> None:
        if len(self.others) < MAX_OTHERS:
            self.others[path] = None
        else:
            self.is_cut = True

    def _add_git_entry(self, path: Path, tree: Path) -> None:
        """A link may lead anywhere by now: only in this folder is it followed."""
        if os.path.lexists(path) and (not path.is_dir() or path.is_symlink()):
            self.git[path] = None
        if path.is_dir() and real(path).is_relative_to(tree):
            self._add_git_folder(real(path), tree)

    def _add_git_folder(self, folder: Path, tree: Path, depth: int = MAX_MODULE_DEPTH) -> None:
        """What says what Git runs: of the repository in `folder`, its work trees and submodules."""
        if folder in self._seen:
            return
        self._seen.add(folder)
        if folder.is_dir() and not os.access(folder, os.X_OK, effective_ids=_EFFECTIVE):
            self.unsearched[folder] = None
            return
        self.git |= dict.fromkeys(folder / name for name in GIT_FILES if os.path.lexists(folder / name))
        self.repositories.append(Repository(folder, tree))
        for inner in (*self._subfolders(folder / "worktrees"), *self._subfolders(folder / "modules")) if depth else ():
            self._add_git_folder(inner, tree, depth - 1)

    def _subfolders(self, folder: Path, depth: int = MAX_MODULE_DEPTH) -> Iterator[Path]:
        """Submodules may lie deeper, by their names."""
        for entry in self._entries(folder, "git") if depth else ():
            if entry.is_dir(follow_symlinks=False):
                path = Path(entry.path)
                if (path / "HEAD").exists():
                    yield path
                else:
                    yield from self._subfolders(path, depth - 1)

    def _entries(self, folder: str | Path, of: str = "") -> list[os.DirEntry[str]]:
        folders, count = self._left[of]
        if folders <= 0 or count <= 0:
            self.is_cut = True
            return []
        try:
            with os.scandir(folder) as entries:
                found = list(islice(entries, count))
        except PermissionError:
            self.unsearched[Path(folder)] = None
            return []
        except OSError:
            return []
        self._left[of] = folders - 1, count - len(found)
        self.is_cut |= len(found) == count
        return found


def common_git_folder(project: Path) -> Path | None:
    """Of a work tree or submodule, Git's folder elsewhere, in which Git writes; None if there is none.

    The file `.git` may be anyone's: what it names must be a repository that names this project itself.
    """
    with suppress(OSError, ValueError):
        named = text_of(project / ".git").removeprefix("gitdir:").strip()
        own = real(project / named)
        if (own / "commondir").is_file():
            back = Path(text_of(own / "gitdir").strip())
            common = real(own / text_of(own / "commondir").strip())
            is_ours = real(own / back) == project / ".git" and own.parent == common / "worktrees"
        else:
            tree = _WORK_TREE.search(text_of(own / "config"))
            is_ours = tree is not None and real(own / tree[1].strip()) == project and "modules" in own.parts
            common = own
        if is_ours and (common / "objects").is_dir() and (common / "HEAD").is_file():
            return common
    return None


def _is_bare(folder: str, names: Collection[str]) -> bool:
    """Whether Git takes the folder itself, with `HEAD` in it, for a repository; `names` are in it."""
    has_more = {"objects", "refs"}.issubset(names) or "commondir" in names
    return has_more and os.path.basename(folder) != ".git"


def _is_searched(entry: os.DirEntry[str]) -> bool:
    return entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False)
