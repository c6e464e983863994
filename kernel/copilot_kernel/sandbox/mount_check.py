"""Whether what was mounted is what was meant, before anything runs in a sandbox.

bubblewrap goes by paths. An agent that is in the same folder meanwhile can exchange one for a link, also between a
check and the mount; so it is checked after all mounts, which cannot be changed any more. A shell does that inside,
since it starts quickest, and on every way into a sandbox; it uses nothing but what it has built in.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .mountinfo import Entry
from .mounts import Access, Mount, parents

SHELL = "/bin/sh"
REFUSED = 125
"""The exit code."""
_SCRIPT = """\
_ck_refuse() {{
    _ck_why="The sandbox was not entered: at $1 is not what it was made for. Something exchanged files meanwhile."
    printf '%s\\n' "$_ck_why" >&2
    exit {code}
}}
_ck_expected={expected}
while read -r _ _ _ck_device _ck_root _ck_point _ck_options _; do
    case $_ck_point in
        {watched}) ;;
        *) continue ;;
    esac
    case $_ck_options in
        ro | ro,*) _ck_found="$_ck_root $_ck_point ro" ;;
        *) _ck_found="$_ck_root $_ck_point rw" ;;
    esac
    _ck_next=${{_ck_expected%%"$_ck_end"*}}
    if [ "$_ck_device $_ck_found" = "$_ck_next" ] || [ "- $_ck_found" = "$_ck_next" ]; then
        _ck_expected=${{_ck_expected#*"$_ck_end"}}
        continue
    fi
    case "$_ck_device $_ck_root $_ck_point" in
        {outside}) ;;
        *) _ck_refuse "$_ck_point" ;;
    esac
done </proc/self/mountinfo
[ -z "$_ck_expected" ] || _ck_refuse "${{_ck_expected%%"$_ck_end"*}}"
exec "$@"
"""


def script(placed: Mapping[str, Mount], outside: Sequence[Entry]) -> bytes:
    """For the shell: run its arguments if `placed` is what is mounted where the agent can write, and nothing else.

    `outside` are the mounts of this process; those that are in such a folder already are there inside, too.
    """
    watched = [path for path, mount in placed.items() if mount.access is Access.WRITE]
    tops = [path for path in watched if not set(parents(path)) & set(watched)]
    lines = [_line(mount, outside) for path, mount in placed.items() if {path, *parents(path)} & set(tops)]
    inherited = (f"{entry.device} {_escaped(entry.root)} {_escaped(entry.point)}" for entry in _within(tops, outside))
    text = _SCRIPT.format(
        expected=shlex.quote("".join(f"{line}\n" for line in lines)),
        watched=" | ".join(f"{_quoted(path)} | {_quoted(path)}/*" for path in tops),
        outside=" | ".join(map(shlex.quote, inherited)) or "''",
        code=REFUSED,
    )
    return os.fsencode(f"_ck_end='\n'\n{text}")


def _line(mount: Mount, outside: Sequence[Entry]) -> str:
    """`DEVICE ROOT POINT ro|rw` as the kernel shows it; the device of a new file system is not known."""
    if mount.access is Access.HIDDEN and not mount.source:
        return f"- / {_escaped(os.fsencode(mount.path))} rw"
    source = os.fsencode(mount.source or mount.path)
    entry = next(entry for entry in _innermost_first(outside) if _is_in(source, entry.point))
    root = posixpath.join(entry.root, posixpath.relpath(source, entry.point)) if source != entry.point else entry.root
    is_read_only = mount.access is not Access.WRITE or entry.is_read_only
    return f"{entry.device} {_escaped(root)} {_escaped(os.fsencode(mount.path))} {'ro' if is_read_only else 'rw'}"


def _innermost_first(outside: Iterable[Entry]) -> list[Entry]:
    """Of several at one point, the last one counts."""
    return sorted(reversed(list(outside)), key=lambda entry: -len(entry.point))


def _within(folders: Iterable[str], outside: Iterable[Entry]) -> Iterator[Entry]:
    tops = [os.fsencode(folder) for folder in folders]
    return (entry for entry in outside if any(_is_in(entry.point, top) for top in tops))


def _is_in(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _quoted(path: str) -> str:
    return shlex.quote(_escaped(os.fsencode(path)))


def _escaped(path: bytes) -> str:
    """As in `mountinfo`."""
    for character in b"\\ \t\n":
        path = path.replace(bytes([character]), f"\\{character:03o}".encode())
    return os.fsdecode(path)


def write(folder: Path, placed: Mapping[str, Mount], outside: Sequence[Entry]) -> tuple[str, ...]:
    """The beginning of a command inside, whose script is written into `folder`. Raises OSError."""
    (file := folder / "enter").write_bytes(script(placed, outside))
    return SHELL, str(file)
