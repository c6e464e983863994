"""Files of a project that run by themselves, steer agents, or say what Git runs: found by looking at the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..permissions.paths import may_be_protected, protection
from .programs import real

MAX_DEPTH, MAX_FOLDERS = 4, 4_000
"""Of the search, which also runs at the end of each turn."""
_SKIPPED = frozenset({"node_modules", "__pycache__", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
_HARMLESS = ("may hold secrets", "belongs to Git")
"""Secrets of the project may be changed; what belongs to Git is told apart here."""

_GIT_FILES = ("config", "config.worktree", "commondir", "gitdir", "hooks")
GIT_REDIRECTIONS = ("hooks", "commondir", "config.worktree")
"""What Git would run or follow, and would not have had there before."""
MAX_BYTES, MAX_MODULE_DEPTH = 100_000, 8
_SETTING = re.compile(r"^[ \t]*(\w+)[ \t]*=[ \t]*\"?([^\"\n;#]+)", re.MULTILINE)


def why_protected(parts: tuple[str, ...]) -> str | None:
    """Why the path of these parts, inside the project, is read-only in a sandbox, in words that follow its name."""
    if ".git" in parts:
        inner = parts[len(parts) - parts[::-1].index(".git") :]
        return "says what Git runs" if not inner or any(name in _GIT_FILES for name in inner) else None
    why = protection((*parts, "_"), changes=True)  # with a name below it, only whole rows of names count
    return None if why in _HARMLESS else why


def protected_paths(project: Path) -> Iterator[Path]:
    """Those that exist, links not followed; `project` has no links in it. A folder stands for all that is in it."""
    folders: list[tuple[str, tuple[str, ...]]] = [(str(project), ())]
    for folder, names in folders:
        for entry in _entries(folder):
            parts = (*names, entry.name)
            if entry.name == ".git":
                yield from _of_git_entry(Path(entry.path), Path(folder))
            elif may_be_protected(entry.name) and why_protected(parts):
                yield Path(entry.path)
            elif len(parts) < MAX_DEPTH and len(folders) < MAX_FOLDERS and _is_searched(entry):
                folders.append((entry.path, parts))


def common_git_folder(project: Path) -> Path | None:
    """Of a work tree or submodule, Git's folder elsewhere, in which Git writes; None if there is none.

    The file `.git` may be anyone's: what it names must be a repository that names this project itself.
    """
    with suppress(OSError, ValueError):
        named = _text(project / ".git").removeprefix("gitdir:").strip()
        own = real(project / named)
        if (own / "commondir").is_file():
            back = Path(_text(own / "gitdir").strip())
            common = real(own / _text(own / "commondir").strip())
            is_ours = real(own / back) == project / ".git" and own.parent == common / "worktrees"
        else:
            settings = dict(_SETTING.findall(_text(own / "config")))
            common, is_ours = (
                own,
                real(own / settings.get("worktree", "").strip()) == project and "modules" in own.parts,
            )
        if is_ours and (common / "objects").is_dir() and (common / "HEAD").is_file():
            return common
    return None


def of_git_folder(folder: Path, tree: Path, depth: int = MAX_MODULE_DEPTH) -> Iterator[Path]:
    """What says what Git runs: of the repository in `folder`, its work trees and submodules, and what it names."""
    yield from (folder / name for name in _GIT_FILES if os.path.lexists(folder / name))
    for inner in (*_subfolders(folder / "worktrees"), *_subfolders(folder / "modules")) if depth else ():
        yield from of_git_folder(inner, tree, depth - 1)
    with suppress(OSError, ValueError):
        for name, value in _SETTING.findall(_text(folder / "config")):
            start = folder if name.lower() == "path" else tree
            path = Path(os.path.normpath(start / value.strip().partition(" ")[0]))
            if tree in path.parents and folder not in (path, *path.parents) and os.path.lexists(path):
                yield path


def _is_searched(entry: os.DirEntry[str]) -> bool:
    return entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False)


def _of_git_entry(path: Path, tree: Path) -> Iterator[Path]:
    """A link may lead anywhere by now: only in this folder is it followed."""
    if not path.is_dir() or path.is_symlink():
        yield path
    if path.is_dir() and real(path).is_relative_to(tree):
        yield from of_git_folder(real(path), tree)


def _text(path: Path) -> str:
    """The beginning of a file that the agent may have made; does not wait for what is no file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _subfolders(folder: Path, depth: int = MAX_MODULE_DEPTH) -> Iterator[Path]:
    """Submodules may lie deeper, by their names."""
    for entry in _entries(folder) if depth else ():
        if entry.is_dir(follow_symlinks=False):
            path = Path(entry.path)
            if (path / "HEAD").exists():
                yield path
            else:
                yield from _subfolders(path, depth - 1)
