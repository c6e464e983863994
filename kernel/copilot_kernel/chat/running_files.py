"""What the files of a project make an agent run, and which of them instruct it.

Agents run hooks, plugins and MCP servers of the folder that they work in, in every permission mode. Each such file is
known by a digest of its place and content.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from ..config import Settings
from ..permissions.paths import instructing_rows, plain_name, running_rows
from ..programs import real
from ..system.files import READING

UNREADABLE = "(cannot be read)"
WHOLE = "# The whole file:"

MAX_BYTES, MAX_FILES = 4_000_000, 1_000
"""Limits of one file, and of the number of files; what is more can be trusted only by its folder."""
MAX_SHOWN = 20_000
"""Characters of a file that a question shows."""
_COMMAND_NAMES = ("command", "bash", "powershell", "cmd", "script", "run", "url", "httpUrl")


@dataclass(frozen=True, slots=True)
class Item:
    """Something to be trusted. `key` is what is remembered; empty if the content is not known.

    `path` of a file; `place` is the file or folder that the agent looks for. `content` is its text, if that is short.
    """

    name: str
    key: str
    lines: tuple[str, ...]
    path: str = ""
    place: str = ""
    content: str | None = None

    @property
    def text(self) -> str:
        """Programs that run, below the name of the file that says so."""
        return "\n".join((f"# {self.name}", *self.lines))


def running_files(settings: Settings) -> list[Item]:
    """Return files that make the agent run programs, from its folder up to the root of the work tree."""
    folders = _searched(settings)
    rows = running_rows(settings.agent or "copilot") if settings.agent != "demo" else ()
    places = sorted({path for folder in folders for path in _matching(folder, rows)})
    files = list(islice(((file, place) for place in places for file in _files(place)), MAX_FILES + 1))
    items = [_item(file, place, folders) for file, place in files[:MAX_FILES]]
    return [*items, *([Item("…", "", (f"More than {MAX_FILES} files.",))] if len(files) > MAX_FILES else ())]


def instructions(settings: Settings) -> tuple[str, ...]:
    """Names of files there that instruct agents, and run nothing."""
    folders = _searched(settings)
    found = (path for folder in folders for path in _matching(folder, instructing_rows()))
    return tuple(dict.fromkeys(os.path.relpath(path, folders[0]) for path in found))


def _searched(settings: Settings) -> list[Path]:
    """The agent's folder first. Without a work tree, agents look in all folders above, as far as below home."""
    project, home = real(Path(settings.folder)), real(settings.environment.home)
    found = [each for each in (project, *project.parents) if not home.is_relative_to(each)]
    end = next((at for at, each in enumerate(found, 1) if _is_work_tree(each)), len(found))
    return found[:end]


def _is_work_tree(folder: Path) -> bool:
    """An empty `.git` is none of Git's."""
    marker = folder / ".git"
    return marker.is_dir() or (marker.is_file() and marker.stat().st_size > 0)


def _matching(folder: Path, rows: Sequence[tuple[str, ...]]) -> Iterator[Path]:
    """Names in whatever case: file systems differ. A folder is listed once, since it may be large."""
    first = {row[0] for row in rows}
    with suppress(OSError):
        for name in filter(lambda name: plain_name(name) in first, os.listdir(folder) if rows else ()):
            rests = [row[1:] for row in rows if row[0] == plain_name(name)]
            if () in rests:
                yield folder / name
            yield from _matching(folder / name, [rest for rest in rests if rest])


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    for folder, folders, names in os.walk(path, followlinks=True):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _item(file: Path, place: Path, folders: Sequence[Path]) -> Item:
    name = os.path.relpath(file, folders[0])
    try:
        content = _content(file)
    except OSError:
        return Item(name, "", (UNREADABLE,), str(file), str(place))
    text = content.decode("utf-8", "replace")
    kept = text if len(text) <= MAX_SHOWN and text.encode() == content else None
    return Item(name, key_of("file", str(file), content), tuple(_shown(text)), str(file), str(place), kept)


def _shown(text: str) -> Iterator[str]:
    """The commands first, then the whole file: it may run something under a name that we do not know."""
    if commands := list(_commands(_parsed(text))):
        yield from (*commands, WHOLE)
    yield text[:MAX_SHOWN].rstrip("\n")
    if len(text) > MAX_SHOWN:
        yield f"… and {len(text) - MAX_SHOWN:,} more characters"


def _content(file: Path) -> bytes:
    """Raises OSError if it is no regular file, or too large."""
    with open(os.open(file, READING), "rb") as stream:
        content = stream.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
    if content is None or len(content) > MAX_BYTES:
        raise OSError("no regular file, or too large")
    return content


def _parsed(text: str) -> Any:
    for parse in (json.loads, tomllib.loads):
        with suppress(ValueError, RecursionError):
            return parse(text)
    return None


def _commands(value: Any) -> Iterator[str]:
    """Return what known members run, with their arguments."""
    if isinstance(value, dict):
        for name in _COMMAND_NAMES:
            if isinstance(named := value.get(name), str):
                arguments = value.get("args")
                more = map(str, arguments) if isinstance(arguments, list) else ()
                yield " ".join((named, *map(shlex.quote, more)))
            elif isinstance(named, list) and all(isinstance(word, str) for word in named):
                yield shlex.join(named)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _commands(each)


def key_of(*parts: str | bytes) -> str:
    """A digest of the parts, and of where each of them ends."""
    digest = sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()
