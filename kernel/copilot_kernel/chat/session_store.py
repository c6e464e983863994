"""Store of the session that a notebook's next kernel resumes: a small file for each notebook, agent and folder.

An open session is locked, by kernels and servers alike, so that two agents never run it at once; the lock file names
its holder. A folder that cannot be written costs the memory of the session and its lock, never the turn.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ..errors import SessionInUse
from ..kept_files import UnknownVersion, read_file, remove_file, write_file
from ..notebook.live import NotebookState
from ..system.files import lock

# How much of a lock file is read.
MAX_HOLDER_BYTES = 20_000
MIN_SOURCE_CHARS = 20
MAX_MARKS = 200
"""Limit of a session's cells; the newest count."""
IN_USE = "This conversation is open in {}."

_log = logging.getLogger(__name__)


class SavedSession(Struct, frozen=True, rename={"id": "session"}):
    """A session that may be resumed, as its file holds it.

    `used`: a prompt was sent to it; `runs`: code of its agent's is running; `cells`: see `marks_of`, of the cells that
    prompts came from.
    """

    id: Annotated[str, Meta(min_length=1)]
    used: bool = False
    cells: tuple[str, ...] = ()
    runs: bool = False

    def is_of(self, state: NotebookState) -> bool:
        """Return True if a cell that a prompt came from is in the notebook."""
        return not marks_of(state).isdisjoint(self.cells)

    def used_by(self, state: NotebookState) -> SavedSession:
        """The session, after the cell that asks, or one that is not known, has sent a prompt."""
        asking = tuple(cell for cell in state.cells if state.asking in ("", cell.id))
        cells = dict.fromkeys((*self.cells, *sorted(marks_of(dataclasses.replace(state, cells=asking)))))
        return replace(self, used=True, runs=False, cells=tuple(cells)[-MAX_MARKS:])


def marks_of(state: NotebookState) -> set[str]:
    """Return digests of each cell: of its id and, if it is long enough to be told from others, of its source.

    Not what stands for an id in a notebook of a format that has none.
    """
    ids = {state.asking, *(cell.id for at, cell in enumerate(state.cells) if cell.id != f"cell-{at}")} - {""}
    sources = {source for cell in state.cells if len(source := cell.source.strip()) >= MIN_SOURCE_CHARS}
    return {_digest(text) for text in (*(f"id {id}" for id in ids), *sources)}


class SessionStore:
    """The session of a notebook with one agent, by its command, in one folder; only the user can read the file.

    Without a notebook nothing is saved. `session` is what this process has written.
    """

    def __init__(self, folder: Path, notebook: str, agent: str, cwd: str) -> None:
        self.session: SavedSession | None = None
        # Otherwise the last attempt to write it has failed.
        self.is_saved = True
        # Why the session that `read` found is of no use; empty if there was none.
        self.problem = ""
        name = f"{_digest(json.dumps([notebook, agent, cwd]))}.json"
        self._file = folder / "sessions" / name if notebook else None
        self.is_kept = bool(notebook)

    def read(self) -> SavedSession | None:
        """The session to resume, if one is known and can be read."""
        if self.session or self._file is None:
            return self.session
        try:
            return msgspec.convert(read_file(self._file), SavedSession)
        except (OSError, ValueError, RecursionError) as error:
            self.problem = str(error) if isinstance(error, UnknownVersion) else ""
        return None

    def write(self, session: SavedSession) -> None:
        """Save the session that a later kernel resumes."""
        self.session = session
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_file(self._file, msgspec.to_builtins(session), sync=False)
            self.is_saved = True
        except OSError as error:
            if self.is_saved:
                _log.warning("the session cannot be saved in %s: %s", self._file, error)
            self.is_saved = False

    def note_runs(self, count: int) -> None:
        """Note how many pieces of the agent's code run: if the process ends meanwhile, a later one knows."""
        if self.session and self.session.runs != bool(count):
            self.write(replace(self.session, runs=bool(count)))

    def clear(self) -> None:
        """Forget the session, here and in the file."""
        self.session = None
        if self._file is not None:
            with suppress(OSError):
                remove_file(self._file)


class SessionLocks:
    """Locks of sessions. At most one is held, so that no other conversation opens it, in this process or another.

    `place` is where the conversation is open, for others who want it: "notebook /home/me/book.ipynb", "a chat".
    """

    def __init__(self, folder: Path, place: str) -> None:
        self._folder, self._place = folder, place
        self._held: SessionLock | None = None

    @contextmanager
    def reserved(self, session_id: str) -> Iterator[SessionLock]:
        """Keep every other conversation out of a session until the block ends, or longer, if the lock is held then.

        Raises SessionInUse: two conversations in one session would hear and answer each other's questions.
        """
        is_ours = self._held is not None and self._held.session_id == session_id
        lock = self._held if is_ours and self._held else lock_session(self._folder, session_id, self._place)
        try:
            yield lock
        finally:
            if lock is not self._held:
                lock.release()

    def hold(self, lock: SessionLock) -> None:
        """Keep `lock` instead of the one that is held."""
        if lock is not self._held:
            self.release()
            self._held = lock

    def release(self) -> None:
        """Let others open the session that is held."""
        if self._held is not None:
            self._held.release()
            self._held = None


class SessionLock:
    """An open session, made by `lock_session`. Without a descriptor, where nothing can be locked, it locks nothing."""

    def __init__(self, session_id: str, file: Path, descriptor: int | None) -> None:
        self.session_id = session_id
        self._file, self._descriptor = file, descriptor

    def release(self) -> None:
        """Let others use the session; a second call does nothing."""
        if self._descriptor is not None:
            with suppress(OSError):
                if _is_same_file(self._file, self._descriptor):
                    self._file.unlink()
            os.close(self._descriptor)
            self._descriptor = None


def lock_session(folder: Path, session_id: str, place: str) -> SessionLock:
    """Lock a session that is open in `place`. Raises SessionInUse if it is open elsewhere, also in this process.

    The operating system releases the locks of a process that dies.
    """
    file = folder / "locks" / _digest(session_id)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _locked(file)
    except BlockingIOError as error:
        raise SessionInUse(IN_USE.format(_holder(file))) from error
    except OSError as error:
        _log.info("the session cannot be locked in %s: %s", file, error)
        return SessionLock(session_id, file, None)
    with suppress(OSError):  # a lock that cannot name its holder, for example on a full disk, is still a lock
        os.truncate(descriptor, 0)
        os.write(descriptor, b" " + json.dumps({"place": place, "pid": os.getpid(), "host": platform.node()}).encode())
    return SessionLock(session_id, file, descriptor)


def _holder(file: Path) -> str:
    """Say where a locked session is open, for the user."""
    try:
        with file.open("rb") as stream:
            stream.seek(1)  # on Windows, nobody else can read the first byte of a locked file
            holder = json.loads(stream.read(MAX_HOLDER_BYTES))
    except (OSError, ValueError, RecursionError):
        holder = None
    match holder:
        case {"place": str(place), "host": str(host)} if place:
            machine = f" on {host}" if host != platform.node() else ""
            return f"{place}{machine}"
    return "another program"


def _locked(file: Path) -> int:
    """A descriptor of the locked file. Raises OSError, which is a BlockingIOError if it is locked already."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(descriptor)
            if _is_same_file(file, descriptor):
                return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_same_file(file: Path, descriptor: int) -> bool:
    """A holder that releases its lock removes the file; a lock of a removed file is worth nothing."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(file), os.fstat(descriptor))
    return False


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
