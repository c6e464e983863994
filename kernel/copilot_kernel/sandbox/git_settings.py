"""Files of a project that Git's settings name: Git reads the settings, and includes what they include.

What is no path, or too long for one, is asked for by `os.path`, which does not raise.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .. import programs

MAX_REPOSITORIES, MAX_INCLUDED = 100, 20
"""Git is run once for each, which takes 3 ms, and for each file that is included only on a condition."""
MAX_BYTES, MAX_VALUE, MAX_FILES = 200_000, 4_000, 200
"""Of a repository's own settings, of characters in one value, and of files that all settings together name."""
MAX_PARTS = 20
"""Of a path behind a variable."""
SECONDS = 2.0
"""For all repositories."""
_HARMLESS = {
    "advice", "author", "blame", "branch", "color", "commit", "committer", "fetch", "i18n", "mailmap", "pull", "push",
    "safe", "url", "user",
}  # fmt: skip
"""Sections whose values Git neither runs nor includes: names of branches, addresses, words for people."""
_LIST = ("config", "--null", "--show-origin", "--includes", "--list")
_OF_FOLDERS = ("core.hookspath", "init.templatedir")
"""Settings, in lower case, that name folders: all in them may run. Others name files, or commands with arguments."""


class GitSettingsUnreadable(Exception):
    """Git does not list the settings of a repository."""


@dataclass(frozen=True, slots=True)
class Repository:
    """`tree` is where relative names in the settings of `git_folder` begin."""

    git_folder: Path
    tree: Path


@dataclass(frozen=True, slots=True)
class _Setting:
    """`name` is in lower case but for the part between its dots; `origin` is the file that it stands in."""

    name: str
    value: str
    origin: Path

    @property
    def is_include(self) -> bool:
        return self.name.startswith(("include.", "includeif.")) and self.name.endswith(".path")


@dataclass(frozen=True, slots=True)
class Named:
    """`files` may not exist; True: one that must not be created, since Git reads it itself, or runs what is in it.

    `links` are symbolic links on the way to them. What is named by the settings of `unreadable` folders is not known.
    """

    files: dict[Path, bool] = field(default_factory=dict)
    links: set[Path] = field(default_factory=set)
    unreadable: list[Path] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _NamedFile:
    """`path` may not exist. `is_followed`: Git itself reads what is there, or runs what is in it."""

    path: Path
    is_followed: bool


class GitSettings:
    """Runs the program `git`, with the user's own settings; nothing that settings name is run by that."""

    def __init__(self, git: str, environ: Mapping[str, str]) -> None:
        self._git = git
        # `GIT_CONFIG_GLOBAL` and the like say which settings there are; the rest says which repository.
        kept = ("GIT_CONFIG_", "GIT_CEILING_DIRECTORIES")
        self._environ = {k: v for k, v in environ.items() if not k.startswith("GIT_") or k.startswith(kept)}
        self._home = Path(environ.get("HOME") or os.path.expanduser("~"))
        self._deadline = time.monotonic() + SECONDS

    def named(self, repositories: Sequence[Repository], folders: Sequence[Path]) -> Named:
        """What their settings name in these folders."""
        named = Named()
        git_folders = [repository.git_folder for repository in repositories]
        around = {folder for each in git_folders for folder in (each, *each.parents)}
        used = [each for each in repositories if os.path.lexists(each.git_folder / "HEAD")]  # else Git does not
        for repository in used[:MAX_REPOSITORIES]:
            try:
                for file in self._named_files(repository):
                    is_folder = os.path.isdir(file.path) and not file.is_followed
                    if not (is_folder or file.path in around or set(folders).isdisjoint(file.path.parents)):
                        is_removed = file.is_followed and not set(git_folders).isdisjoint(file.path.parents)
                        named.files[file.path] = is_removed or named.files.get(file.path, False)
                        named.links.update(_links_on_the_way(file.path, folders))
                        if len(named.files) > MAX_FILES:
                            raise GitSettingsUnreadable
            except GitSettingsUnreadable:
                named.unreadable.append(repository.git_folder)
        named.unreadable.extend(each.git_folder for each in used[MAX_REPOSITORIES:])
        return named

    def _named_files(self, repository: Repository) -> Iterator[_NamedFile]:
        """What the settings name, wherever it is. Raises GitSettingsUnreadable."""
        folder = repository.git_folder
        _check_size(folder / "config")
        settings = self._list(folder)
        tree = _work_tree(folder, settings) or repository.tree
        files = {setting.origin for setting in settings}
        for setting in settings:
            if setting.is_include:
                path = self._whole(setting.value, setting.origin.parent)
                yield _NamedFile(path, is_followed=True)
                if path not in files and len(files) < MAX_INCLUDED and os.path.isfile(path):
                    files.add(path)  # not included now; which branch is checked out is for the agent to say
                    settings += self._list(folder, "--file", str(path))
            else:
                yield from self._named_by(setting, tree)

    def _named_by(self, setting: _Setting, tree: Path) -> Iterator[_NamedFile]:
        section, _, name = setting.name.partition(".")
        is_plain_alias = section == "alias" and not setting.value.startswith("!")
        if section in _HARMLESS or is_plain_alias or name.endswith(".description"):
            return
        if setting.name in _OF_FOLDERS:
            yield _NamedFile(self._whole(setting.value, tree), is_followed=True)
            return
        value = setting.value[:MAX_VALUE]
        for text in (value, *_words(value)):
            path = self._whole(text, tree)
            if os.path.isfile(path) or "/" in text:  # a name without a slash is found on PATH, or is no file at all
                yield _NamedFile(path, is_followed=False)
        for path in _after_variables(value, tree):
            yield _NamedFile(path, is_followed=False)

    def _whole(self, text: str, folder: Path) -> Path:
        place = self._home / text[2:] if text.startswith("~/") else folder / text
        return Path(os.path.normpath(place))

    def _list(self, git_folder: Path, *options: str) -> list[_Setting]:
        """Raises GitSettingsUnreadable."""
        command = (self._git, *_LIST[:1], *options, *_LIST[1:])
        # The work tree that the settings name may not exist, and then Git fails.
        environ = {**self._environ, "GIT_DIR": str(git_folder), "GIT_WORK_TREE": str(git_folder)}
        try:
            done = subprocess.run(
                command, env=environ, cwd=git_folder, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=max(0.0, self._deadline - time.monotonic()),
            )  # fmt: skip
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise GitSettingsUnreadable from error
        if done.returncode != 0:
            raise GitSettingsUnreadable
        fields = os.fsdecode(done.stdout).split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return [_setting(origin, text, git_folder) for origin, text in pairs]


def _setting(origin: str, text: str, git_folder: Path) -> _Setting:
    """Of two fields as Git writes them: `file:PATH` (or another kind of origin); `NAME`, a line break, the value."""
    name, _, value = text.partition("\n")
    return _Setting(name, value, Path(os.path.normpath(git_folder / origin.partition(":")[2])))


def _check_size(settings: Path) -> None:
    """Raises GitSettingsUnreadable for what takes Git, and us, too long; a pipe, for ever."""
    try:
        state = os.stat(settings)
    except FileNotFoundError:
        return
    except OSError as error:
        raise GitSettingsUnreadable from error
    if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_BYTES:
        raise GitSettingsUnreadable


def _links_on_the_way(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    with suppress(OSError):
        for link in map(Path, programs.links_of(path.parent)[1]):
            if not set(folders).isdisjoint(link.parents):
                yield link


def _work_tree(git_folder: Path, settings: list[_Setting]) -> Path | None:
    """Of a submodule, or another work tree of the same repository."""
    with suppress(OSError, ValueError):
        if git_folder.parent.name == "worktrees":
            return Path(text_of(git_folder / "gitdir").strip()).parent
    named = next((setting.value for setting in settings if setting.name == "core.worktree"), "")
    return Path(os.path.normpath(git_folder / named)) if named else None


def _words(command: str) -> list[str]:
    """As a shell splits it; `!` begins an alias that is one."""
    lexer = shlex.shlex(command.lstrip("!"), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        words = command.lstrip("!").split()
    return [part for word in words for part in {word, word.rpartition("=")[2]} if part]


def _after_variables(command: str, tree: Path) -> Iterator[Path]:
    """Files in `tree` at the end of words such as `$(git rev-parse --show-toplevel)/tools/x`."""
    if "$" in command or "`" in command:
        for _, *parts in (word.split("/") for word in _words(command)):
            starts = range(max(0, len(parts) - MAX_PARTS), len(parts))
            yield from (path for at in starts if os.path.isfile(path := tree.joinpath(*parts[at:])))


def text_of(path: Path) -> str:
    """The beginning of a file that the agent may have made; does not wait for what is no file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
