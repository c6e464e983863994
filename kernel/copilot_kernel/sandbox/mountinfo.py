"""The mounts that a process sees, as Linux lists them in `/proc/PID/mountinfo`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_ESCAPED = re.compile(rb"\\([0-7]{3})")
OWN = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Entry:
    """At `point` is what `root` is in the file system on `device`: the place itself, whatever links led there."""

    device: str
    root: bytes
    point: bytes
    is_read_only: bool


def read(file: Path = OWN) -> list[Entry]:
    """In the order of mounting. Raises OSError."""
    return list(entries(file.read_bytes().splitlines()))


def entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    """Of these lines, each `ID PARENT DEVICE ROOT POINT OPTIONS …`."""
    for line in lines:
        _, _, device, root, point, options, *_ = line.split(b" ")
        is_read_only = b"ro" in options.split(b",")
        yield Entry(device.decode(), _plain(root), _plain(point), is_read_only)


def _plain(text: bytes) -> bytes:
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), text)
