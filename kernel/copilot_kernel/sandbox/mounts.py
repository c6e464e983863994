"""Paths that exist inside, and how, as arguments of bubblewrap. Pure.

The deepest entry for a path counts, and of two for the same path the stricter one. A read-only entry does not hold its
parents: `mv .git .git2; mkdir -p .git/hooks` would replace it. So each folder between it and what is writable becomes a
mount point of its own, which cannot be renamed. The same holds in a private folder that stands in another's place.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

EMPTY_FILE = "/dev/null"


class Access(IntEnum):
    """The greater, the stricter."""

    WRITE = 1
    READ = 2
    HIDDEN = 3


@dataclass(frozen=True, slots=True)
class Mount:
    """`path` has no links in it and exists outside, unless it is below something hidden.

    `source`: another file or folder that stands there; for something hidden, NOTHING if it is a file.
    """

    path: str
    access: Access
    source: str = ""


def placed(mounts: Iterable[Mount]) -> dict[str, Mount]:
    """Return the entry to mount at each path, in order: the strictest, and parents of what is held."""
    chosen = _with_parents(_strictest(mounts))
    ordered = sorted(chosen, key=lambda path: path.split("/"))
    return {path: chosen[path] for path in ordered if not _is_so_already(chosen[path], _around(path, chosen))}


def arguments(placed: Mapping[str, Mount], links: Mapping[str, str]) -> Iterator[str]:
    """Return arguments of bubblewrap, after the root was bound read-only. `links`: links that hidden folders would
    hide.
    """
    for path in sorted({*placed, *links}, key=lambda path: path.split("/")):
        around = _around(path, placed)
        if path in placed:
            yield from _argument(placed[path])
        elif around is not None and around.access is Access.HIDDEN:
            yield from ("--symlink", links[path], path)


def parents(path: str) -> Iterator[str]:
    """The folders above an absolute path, the nearest first."""
    while path != (path := posixpath.dirname(path)):
        yield path


def _strictest(mounts: Iterable[Mount]) -> dict[str, Mount]:
    placed: dict[str, Mount] = {}
    for mount in mounts:
        if mount.path not in placed or placed[mount.path].access < mount.access:
            placed[mount.path] = mount
    return placed


def _with_parents(placed: dict[str, Mount]) -> dict[str, Mount]:
    found = dict(placed)
    for path, mount in placed.items():
        around = _around(path, placed)
        if around is None or around.access is not Access.WRITE or (mount.access is Access.WRITE and not around.source):
            continue
        between = (folder for folder in parents(path) if around.path in parents(folder))
        found.update((folder, Mount(folder, Access.WRITE, _in_source(around, folder))) for folder in between)
    return found


def _in_source(around: Mount, path: str) -> str:
    """Return where `path` is outside, if another folder is mounted around it."""
    return posixpath.join(around.source, posixpath.relpath(path, around.path)) if around.source else ""


def _around(path: str, placed: Mapping[str, Mount]) -> Mount | None:
    return next((placed[folder] for folder in parents(path) if folder in placed), None)


def _is_so_already(mount: Mount, around: Mount | None) -> bool:
    is_read_only = around is None or around.access is Access.READ
    return is_read_only and mount.access is Access.READ and not mount.source


def _argument(mount: Mount) -> Iterator[str]:
    if mount.access is Access.HIDDEN and not mount.source:
        yield from ("--tmpfs", mount.path)
    else:
        yield from ("--bind" if mount.access is Access.WRITE else "--ro-bind", mount.source or mount.path, mount.path)
