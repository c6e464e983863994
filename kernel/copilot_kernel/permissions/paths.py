"""Paths: where they lead, and which files are protected because they hold secrets, run by themselves or steer agents.

Paths are compared part by part, never as strings. Nothing here touches the disk: the caller has resolved links before.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from ..system.drives import policy_path, spelling_problem

MAX_PATH = 4096
MAX_DEPTH = 100
MAX_NAME = 255
# The file in which users save rules.
SETTINGS_FILE = "copilot_kernel.json"


@lru_cache(maxsize=4096)
def parts_of(path: str) -> tuple[str, ...]:
    """The parts of an absolute path. A `..` must not follow a link."""
    return tuple(part for part in posixpath.normpath(path).split("/") if part)


def below(path: str, folder: str) -> tuple[str, ...] | None:
    """The parts of `path` under `folder`, empty for the folder itself; None if it is elsewhere or not absolute."""
    if not (path.startswith("/") and folder.startswith("/")):
        return None
    parts, start = parts_of(path), parts_of(folder)
    return parts[len(start) :] if parts[: len(start)] == start else None


def unusable(text: str) -> str | None:
    """Why it is uncertain where a path with this spelling leads."""
    if spelling := spelling_problem(text):
        return f"`{text[:100]}` {spelling}."
    text = policy_path(text)
    parts = text.split("/")
    is_broken = not text or len(text) > MAX_PATH or "\0" in text or is_too_deep(parts)
    is_elsewhere = "://" in text or text.startswith(("~", "\\")) or text[1:3] == ":\\"
    problems = (
        (is_broken, f"`{text[:100]}` is not a usable path."),
        (is_elsewhere, f"`{text}` is not a path inside the project or from the root of the file system."),
        (".." in parts, f"`{text}` contains `..`, and where that leads depends on links."),
    )
    return next((problem for is_problem, problem in problems if is_problem), None)


def is_too_deep(parts: Sequence[str]) -> bool:
    """No disk has such a path, and comparing it would take long."""
    return len(parts) > MAX_DEPTH or any(len(part) > MAX_NAME for part in parts)


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path as the agent wrote it, made absolute, and with links followed (`real`; None if that is not known)."""

    text: str
    written: str
    real: str | None
    # Why no rule can allow it.
    problem: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Every location that it may lead to."""
        return (self.written, self.real) if self.real else (self.written,)


@dataclass(frozen=True, kw_only=True)
class Places:
    """Folders that decisions depend on, in the form of `drives.policy_path`.

    `real` maps each path of `policy.paths()` to where its links lead. `guarded` maps files and folders, absolute paths
    without links, to why a person decides about a change of each.
    """

    # The project.
    root: str = ""
    # Where relative paths and commands start.
    cwd: str = ""
    home: str = ""
    real: Mapping[str, str] = field(default_factory=dict)
    guarded: Mapping[str, str] = field(default_factory=dict)

    @property
    def real_root(self) -> str:
        return self.real.get(self.root, self.root)

    def absolute(self, text: str, folder: str = "") -> str:
        """The best guess where a path of the agent leads; this is its key in `real`."""
        path = policy_path(text.removeprefix("file://"))
        if self.home and (path == "~" or path.startswith("~/")):
            path = self.home + path[1:]
        return posixpath.join(self.cwd, policy_path(folder), path)

    def resolve(self, text: str, folder: str = "") -> ResolvedPath:
        """Return the known facts about the path `text`, relative to `folder` (default: `cwd`)."""
        path = self.absolute(text, folder)
        real = self.real.get(path)
        unknown = None if real else f"Cannot tell where `{text}` leads."
        return ResolvedPath(text, path, real, unusable(text) or unknown)

    def inner(self, path: str) -> tuple[str, ...] | None:
        """The parts of an absolute path under the project; None if it is outside."""
        found = (below(path, root) for root in (self.root, self.real_root))
        return next((parts for parts in found if parts is not None), None)

    def is_inside(self, path: ResolvedPath, *, or_root: bool = False) -> bool:
        """Both the written and the real path are in the project; with `or_root`, the project's folder itself counts."""
        inner = (self.inner(path.written), below(path.real or "", self.real_root))
        return not path.problem and None not in inner and (or_root or all(inner))

    def guard(self, path: ResolvedPath) -> str | None:
        """Why a person decides about a change of the path: it is guarded, in what is, or a folder that holds such."""
        for place in path.places:
            parts = plain_parts(place)
            for guarded, why in self.guarded.items():
                own = plain_parts(guarded)
                if parts[: len(own)] == own or (own[: len(parts)] == parts and self.inner(place)):
                    return why
        return None

    def protection(self, path: ResolvedPath, *, changes: bool) -> str | None:
        """Why the path is protected. Names above the project do not count."""
        if changes and (why := self.guard(path)):
            return why
        if spelling := spelling_problem(path.text):
            return f"{spelling}, and may be a protected file"
        found = ((self.inner(place), parts_of(place)) for place in path.places if place.startswith("/"))
        named = (parts if inner is None else inner for inner, parts in found)
        return next((why for names in named if (why := protection(names, changes=changes))), None)


# Globs such as `*.py` are not taken to be about files of this kind.
_RUNS = "runs by itself"
_MAKES_RUN = "makes agents run programs"
_INSTRUCTS = "instructs agents"


@cache
def policy_data(name: str = "policy.toml") -> dict[str, Any]:
    """A data file, read when the first call is judged."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


@cache
def _names() -> dict[str, str]:
    """Patterns for one name, wherever it stands in a path, with the reason; the first that matches counts."""
    return {name: why for why, listed in policy_data()["protected"]["names"].items() for name in listed.split()}


@cache
def _rows(*, changes: bool) -> dict[tuple[str, ...], str]:
    """Names in a row, with the reason. Some may be read, but not changed: they steer agents or programs."""
    tables = [policy_data()["protected"][name] for name in ("read_paths", "changed_paths")[: 1 + changes]]
    rows = {tuple(row.split("/")): why for each in tables for why, listed in each.items() for row in listed.split()}
    return {**dict.fromkeys(running_rows("") if changes else (), _MAKES_RUN), **rows}


def agents_named(command: str, agents: Iterable[str] = ()) -> list[str]:
    """Those of the agents, or of all, that a command line names. Folders do not: ~/claude/bin/agent is unknown."""
    names = [re.split(r"[/\\]", word)[-1] for word in command.lower().split()]
    return [agent for agent in agents or policy_data()["runs"] if any(agent in name for name in names)]


@cache
def running_rows(command: str) -> tuple[tuple[str, ...], ...]:
    """Names in a row of what makes the agent with this command line run programs; of all agents, if it is unknown."""
    table = policy_data()["runs"]
    return tuple(tuple(row.split("/")) for agent in agents_named(command) or table for row in table[agent].split())


@cache
def instructing_rows() -> tuple[tuple[str, ...], ...]:
    """Names in a row of what instructs agents."""
    return tuple(tuple(row.split("/")) for row in policy_data()["protected"]["changed_paths"][_INSTRUCTS].split())


def protection(names: Iterable[str], *, changes: bool) -> str | None:
    """Why a path with these parts is protected, in words that follow its name.

    With `changes`, files count too that may be read but not changed.
    """
    plain = tuple(plain_name(name).strip() for name in names)
    if found := next((why for name in plain if (why := _name_protection(name))), None):
        return found
    if changes and plain[-1:] == ("head",):  # Git takes its folder for a repository, and runs what files in it say
        return _RUNS
    rows = _rows(changes=changes)
    return next((why for row, why in rows.items() if row[0] in plain and _contains(plain, row, changes=changes)), None)


@lru_cache(maxsize=4096)
def may_be_protected(name: str) -> bool:
    """Return True if a path that ends in `name` may be protected: a quick look before `protection`."""
    plain = plain_name(name).strip()
    return bool(_name_protection(plain)) or any(row[-1] == plain for row in _rows(changes=True))


def _contains(names: tuple[str, ...], row: tuple[str, ...], *, changes: bool) -> bool:
    """Return True if a row covers the path. For changes, its folder counts as well, with which the rest would come or
    go.
    """
    if changes and len(row) > 1 and names[-1] == row[0]:
        return True
    return any(names[at : at + len(row)] == row for at, name in enumerate(names) if name == row[0])


def is_never_written(names: Iterable[str]) -> bool:
    """Git's hooks and settings run programs, and our settings allow them."""
    return any(plain_name(name).strip() in (".git", SETTINGS_FILE) for name in names)


def plain_name(name: str) -> str:
    """The name as a file system sees it that ignores case and invisible characters."""
    if name.isascii():
        return name.lower()
    visible = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join(visible).casefold()


@lru_cache(maxsize=4096)
def plain_parts(path: str) -> tuple[str, ...]:
    """`parts_of`, as a file system sees them that ignores case."""
    return tuple(map(plain_name, parts_of(path)))


@lru_cache(maxsize=4096)
def _name_protection(name: str) -> str | None:
    return next((why or None for pattern, why in _names().items() if fnmatchcase(name, pattern)), None)


_MAX_ALTERNATIVES, _MAX_GLOB = 50, 300


@lru_cache(maxsize=1024)
def glob_protection(glob: str, *, changes: bool, hidden: bool = False) -> str | None:
    """Why a file that `glob` may match is protected. Generic globs such as `*.py` count only if something `changes`.

    `hidden`: wildcards match a leading dot, as they do in searches but not in shells.
    """
    inner = re.search(r"\{([^{}]*)\}", glob)
    words = inner[1].split(",")[:_MAX_ALTERNATIVES] if inner else []
    spellings = (glob, glob.replace("\\", ""), *(glob.replace(inner[0], word) for word in words if inner))
    names = {name for each in spellings for name in re.split(r"[\s,/\\{}]+", plain_name(each)) if name}
    if len(names) > _MAX_ALTERNATIVES or len(glob) > _MAX_GLOB:
        return "is too long to check"
    found = (_name_glob_protection(name, changes=changes, hidden=hidden) for name in sorted(names))
    return next((f"may match a file that {why}" for why in found if why), None)


def name_fits(name: str, glob: str) -> bool:
    """Return True if a shell may replace `glob` by `name`; a glob that is too long to check always fits."""
    return len(glob) > MAX_NAME or fnmatchcase(name, re.sub(r"[*?]{2,}", "*", glob).replace("[^", "[!"))


def is_generic(glob: str) -> bool:
    """A glob such as `*` or `*.py`, which means ordinary files."""
    return re.fullmatch(r"\*+(\.\w+)?", glob) is not None


def _name_glob_protection(name: str, *, changes: bool, hidden: bool) -> str | None:
    if not re.search(r"[*?\[]", name):
        return protection((name,), changes=changes)
    is_quiet = is_generic(name) and not changes  # then, only what is certainly no ordinary file counts
    if is_quiet and (not hidden or name.strip("*") == ""):
        return None
    known = {name: why for name, why in _names().items() if why and "*" not in name}
    known |= {row[0]: why for row, why in _rows(changes=True).items() if changes}
    fitting = (
        why
        for each, why in known.items()
        if (hidden or each[0] != "." or name[0] in ".[") and name_fits(each, name)
        if not (is_generic(name) and why == _RUNS) and (not is_quiet or (each[0] == "." and why == "may hold secrets"))
    )
    return next(fitting, None)
