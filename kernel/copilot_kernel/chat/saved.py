"""Which session a notebook's next kernel goes on with: a small file for each notebook, agent and folder.

An open session is locked, by kernels and servers alike, so that two agents never run it at once; the lock file names
its holder. A folder that cannot be written costs the memory of the session and its lock, never the turn.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import platform
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

HOLDER_LIMIT = 20_000
"""Bytes of a lock file that are read."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Past:
    """A session that may be gone on with. `used`: something was said in it."""

    id: str
    used: bool = False


@dataclass(frozen=True, slots=True)
class Handover:
    """Where a chat of this process was left: the agent's command, its folder, and what may be gone on with there."""

    agent: str
    cwd: str
    past: Past | None


class SessionStore:
    """The session of one `key`: the notebook's path, the agent's command and its folder. Only the user can read it."""

    def __init__(self, folder: Path, key: tuple[str, str, str]) -> None:
        self._key = dict(zip(("notebook", "agent", "cwd"), key, strict=True))
        self._file = folder / "sessions" / f"{_digest(json.dumps(key))}.json"

    def read(self) -> Past | None:
        """The session, if one was saved and can be read."""
        try:
            told = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        id = told.get("session") if isinstance(told, dict) else None
        return Past(id, told.get("used") is True) if isinstance(id, str) and id else None

    def write(self, past: Past) -> None:
        """Replace the file as a whole."""
        told = {**self._key, "session": past.id, "used": past.used}
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(self._file, told)
        except OSError as error:
            _log.warning("the session cannot be saved in %s: %s", self._file, error)

    def forget(self) -> None:
        """Nothing is gone on with."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)


class Lock:
    """An open session. Made by `lock`."""

    def __init__(self, session_id: str, file: Path, descriptor: int) -> None:
        self.session_id = session_id
        self._file, self._descriptor = file, descriptor

    def release(self) -> None:
        """Let others use it; a second call does nothing."""
        if self._descriptor >= 0:
            with suppress(OSError):
                if _is_there(self._file, self._descriptor):
                    self._file.unlink()
            os.close(self._descriptor)
            self._descriptor = -1


def lock(folder: Path, session_id: str, place: str) -> Lock | None:
    """Lock a session that is open in `place`; None if it is open elsewhere, in this process or another.

    Where nothing can be locked, nobody is kept out. The operating system releases the locks of a process that dies.
    """
    file = _lock_file(folder, session_id)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _locked(file)
        if descriptor is None:
            return None
        _write_holder(descriptor, {"place": place, "pid": os.getpid(), "host": platform.node()})
        return Lock(session_id, file, descriptor)
    except OSError as error:
        _log.info("the session cannot be locked in %s: %s", file, error)
        return Lock(session_id, file, -1)


def holder(folder: Path, session_id: str) -> str:
    """Where a locked session is open, for people: the place and the process."""
    try:
        with open(_lock_file(folder, session_id), "rb") as stream:
            known = json.loads(stream.read(HOLDER_LIMIT))
    except (OSError, ValueError, RecursionError):
        known = None
    match known:
        case {"place": str(place), "pid": int(pid), "host": str(host)} if place:
            machine = f" on {host}" if host != platform.node() else ""
            return f"{place} (process {pid}{machine})"
    return "another program"


def _lock_file(folder: Path, session_id: str) -> Path:
    return folder / "locks" / _digest(session_id)


def _write_holder(descriptor: int, holder: dict[str, Any]) -> None:
    """A lock that cannot name its holder, for example on a full disk, is still a lock."""
    with suppress(OSError):
        os.truncate(descriptor, 0)
        os.write(descriptor, json.dumps(holder).encode())


def _locked(file: Path) -> int | None:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        if _is_there(file, descriptor):
            return descriptor
        os.close(descriptor)


def _is_there(file: Path, descriptor: int) -> bool:
    """Whoever released it took its file away; the lock of a file that is gone is worth nothing."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(file), os.fstat(descriptor))
    return False


def _replace(file: Path, told: dict[str, Any]) -> None:
    """A temporary file has mode 0600."""
    descriptor, beside = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(told, stream)
        os.replace(beside, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
