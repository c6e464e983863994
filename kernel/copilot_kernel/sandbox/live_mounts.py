"""The mounts of a sandbox that runs: which of them are gone, and whether anything still runs inside.

Linux takes a mount off a file or folder that somebody outside removes, or replaces by a rename: `git config`,
`git pull` and many editors do that. What is at its path then is as writable as the folder around it. Nothing prevents
that, but the mounts of the processes inside show it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from . import mountinfo

PROC = Path("/proc")


def lost(handover: Path, points: Collection[str], proc: Path = PROC) -> set[str]:
    """Those of the mount `points` at which nothing is mounted any more, in one of the sandboxes that show `handover`.

    A sandbox and the commands that the client runs in it show the same folder, each in mounts of its own. Empty when
    nothing runs inside.
    """
    wanted = {os.fsencode(point) for point in points}
    missing: set[bytes] = set()
    for mounted in _mounted(proc):
        if os.fsencode(handover) in mounted:
            missing |= wanted - mounted
    return {os.fsdecode(point) for point in missing}


def is_entered(handover: Path, proc: Path = PROC) -> bool:
    """Whether anything still runs in one of the sandboxes that show `handover`."""
    return any(os.fsencode(handover) in mounted for mounted in _mounted(proc))


def _mounted(proc: Path) -> Iterator[set[bytes]]:
    """The mount points of each namespace of mounts but ours, as far as we may look at its processes."""
    seen = {os.readlink(proc / "self/ns/mnt")}
    for name in filter(str.isdigit, os.listdir(proc)):
        with suppress(OSError, ValueError):
            if (namespace := os.readlink(proc / name / "ns/mnt")) not in seen:
                entries = mountinfo.read(proc / name / "mountinfo")
                seen.add(namespace)
                yield {entry.point for entry in entries}
