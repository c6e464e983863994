"""Sandboxes whose kernel was killed: nobody has looked for what was created inside, until the next one starts.

Each sandbox that runs has a record in the state folder. The process that looks after it keeps that locked, and removes
it when it has looked a last time; Linux unlocks it when that process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from .held import Finding, Held, Kind
from .sweep import Sweep

LOCK_SECONDS, POLL_SECONDS = 5.0, 0.005
KERNEL = "A kernel in this project"


class Record:
    """Of a sandbox that runs; for as long as `descriptor` is open, here or in a process that has inherited it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self.descriptor = path, descriptor

    @classmethod
    def create(cls, folder: Path, held: Held) -> Record:
        """In `folder`, which `locked` has made. Raises OSError."""
        path = folder / f"{secrets.token_hex(8)}.json"
        text = json.dumps(replace(held, warnings=()).to_builtins()).encode("ascii")
        new = path.with_suffix(".new")  # nobody finds it before it is locked
        descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode=0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(text)
            new.rename(path)
        except OSError:
            os.close(descriptor)
            new.unlink(missing_ok=True)
            raise
        return cls(path, descriptor)

    def release(self) -> None:
        """Another process looks after the sandbox now."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def remove(self) -> None:
        """The sandbox has ended, and what was created inside is known."""
        self.path.unlink(missing_ok=True)
        self.release()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else takes what was left in the project for the user's, while it is being looked at. Raises OSError.

    A process that hangs does not keep others from starting.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + LOCK_SECONDS
    with (folder / "lock").open("wb") as file:
        while not _is_ours(file) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)  # `flock` itself waits without a limit
        yield


def sweep(folder: Path, project: Path) -> list[Finding]:
    """What was created in sandboxes of the project that nobody looks after any more, with a line that says so first.

    What would be removed is only renamed: who made it is not known. Raises OSError.
    """
    found: list[Finding] = []
    for path in sorted(folder.glob("*.json")):
        with suppress(FileNotFoundError):  # another kernel has done it
            found += _swept(path, project)
    return [Finding(KERNEL, Kind.KILLED), *found] if found else []


def _swept(path: Path, project: Path) -> list[Finding]:
    """Raises OSError."""
    with path.open("rb") as file:
        if not _is_ours(file):
            return []
        try:
            held = Held.from_builtins(json.load(file))
        except ValueError:  # the disk was full
            path.unlink(missing_ok=True)
            return []
        if held.project != project:
            return []
        findings = Sweep(held, sets_aside=True).last_findings()
        _remove_handover(held.handover)
        path.unlink()
    return [finding for finding in findings if finding.kind is not Kind.CUT]  # which is said of the next one, too


def _is_ours(file: IO[bytes]) -> bool:
    """Lock it, unless somebody else has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_handover(folder: Path) -> None:
    with suppress(OSError):
        if folder.name.startswith("copilot-kernel-") and folder.lstat().st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)
