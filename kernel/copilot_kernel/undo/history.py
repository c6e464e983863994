"""What each turn changed, and how to restore it.

Nothing here raises because something could not be saved: a turn goes on, and its record says what cannot be restored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread

import anyio
from anyio import to_thread

from ..conversation.model import ToolCall
from ..notebook.live import OpenDocuments
from ..rendering.changes import changes_of
from .blobs import BlobStore
from .cells import CHANGED_SINCE, CellLog
from .listing import named
from .record import ChangedFile, TurnRecorder, is_excluded
from .shadow import SECONDS, Shadow, Snapshot, SnapshotError
from .tree import ABSENT, FileState, Tree, digest_of

MAX_TURNS = 50
"""Earlier ones cannot be undone."""
MAX_FAILURES = 6
"""Snapshots in a row, two of each turn. Each goes on where the last one stopped."""
MAX_SAVED_BYTES = 250 * 1000 * 1000
"""Beyond this, the oldest turns are forgotten."""
NOTEBOOK_OPEN = "it is open beside the notebook"
NOTHING_OPEN = OpenDocuments()
NOTEBOOK_UNKNOWN = "it may be this notebook, whose path is not known"
_PROBLEMS = {"large": "it was larger than 5 MB", "special": "it was not a regular file"}
_UNSAVED = "its content could not be saved"
_GONE = "its saved content is gone"
HANGING = "the disk did not answer"
LOST = f"Not everything was recorded: {HANGING}, or there was too much to look at."
_MOST, _HALF = 0.9, 0.5
"""Of SECONDS, so that who does the work ends it before nobody waits for it any more."""
NEEDED = "it may hold what could not be restored"
_EMPTY = digest_of(b"")


@dataclass(frozen=True, slots=True)
class TurnFiles:
    """What turn `number` changed, as it was at its end. `new_folders` were not there before.

    `commands` are titles; what is said in `notes` could not be looked at. `cells`: see `cells.py`.
    """

    number: int
    files: tuple[ChangedFile, ...] = ()
    new_folders: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cells: CellLog = field(default_factory=CellLog)


@dataclass(frozen=True, slots=True)
class Plan:
    """What undoing a turn would do now. `certain` files were changed by its calls, and by nothing else; `uncertain`
    ones may have been changed by something else, too. `skipped` are the others, with the reason.
    """

    turn: TurnFiles
    certain: tuple[ChangedFile, ...] = ()
    uncertain: tuple[ChangedFile, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The paths that were restored, and those that were not, with the reason."""

    done: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


class _Snapshots:
    """Taken in a thread, one after the other; not any more once several in a row took too long."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow, self._busy = shadow, Lock()
        self._failures = 0
        self._thread: Thread | None = None
        self._deadline = 0.0
        self._taken: list[Snapshot | SnapshotError] = []
        """The one that was begun last, once it is there."""

    def prepare(self) -> None:
        """Read the files, so that the next snapshot reads only those that have changed since."""
        Thread(target=self._read, name="copilot-undo", daemon=True).start()

    def begin(self) -> None:
        """Start one, unless the last one hangs: it shows an earlier moment."""
        self._deadline = time.monotonic() + SECONDS
        if self._failures >= MAX_FAILURES:
            return
        self._taken = []
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._take, args=(self._taken,), name="copilot-undo", daemon=True)
            self._thread.start()
        else:
            self._taken.append(SnapshotError(HANGING))

    async def taken(self) -> Snapshot | SnapshotError:
        """That which was begun; at most SECONDS after that."""
        if self._thread is not None and not self._taken:
            left = max(0.0, self._deadline - time.monotonic())
            await to_thread.run_sync(self._thread.join, left, abandon_on_cancel=True)
        return self._taken[0] if self._taken else SnapshotError(HANGING)

    def _read(self) -> None:
        with self._busy, suppress(SnapshotError):
            self._shadow.take(saves=False)

    def _take(self, taken: list[Snapshot | SnapshotError]) -> None:
        with self._busy:
            try:
                taken.append(self._shadow.take(_MOST * (self._deadline - time.monotonic())))
                self._failures = 0
            except SnapshotError as error:
                taken.append(error)
                self._failures += 1


class UndoHistory:
    """One for a conversation in `folder`. `notebook` is its file at the start; contents are saved below `state`."""

    def __init__(self, folder: str, state: Path, notebook: str = "") -> None:
        self.tree, self._store = Tree(folder), BlobStore(state / "undo")
        self._shadow = Shadow(self.tree, self._store)
        self._snapshots = _Snapshots(self._shadow)
        self._recorder: TurnRecorder | None = None
        self._is_hanging = False
        self._start: Snapshot | SnapshotError | None = None
        self.turns: dict[int, TurnFiles] = {}
        """By number; those that changed nothing are missing."""
        self._notebooks: set[str] = set()
        self.leave_out([notebook] if notebook else [])

    def leave_out(self, notebook: Iterable[str]) -> None:
        """The notebook is, or may be, at these absolute paths now: they count in no turn."""
        self._notebooks |= {os.path.relpath(os.path.realpath(path), self.tree.root) for path in notebook}
        for number, turn in list(self.turns.items()):
            files = tuple(file for file in turn.files if not self._is_excluded(file.path))
            if files or turn.commands or turn.cells.changes:
                self.turns[number] = replace(turn, files=files)
            else:
                del self.turns[number]

    def prepare(self) -> None:
        """Read the files before the first turn begins, without waiting for that; nothing is saved."""
        self._snapshots.prepare()

    def begin(self) -> None:
        """A turn begins: look at the files, without waiting for that."""
        self._recorder, self._start = TurnRecorder(self.tree, self._store, self._is_excluded), None
        self._is_hanging = False
        self._snapshots.begin()

    async def begun(self) -> None:
        """Wait until the agent may begin, at most SECONDS after `begin`."""
        if self._recorder is not None and self._start is None:
            self._start = await self._snapshots.taken()

    def observe(self, call: ToolCall) -> None:
        """Note a call of the turn that runs, which is new or has changed: it may write soon.

        Waits for the disk, but not for one that hangs: then nothing that comes later in the turn can be undone.
        """
        if self._recorder is None or self._is_hanging:
            return
        if not self._recorder.is_news(call):
            self._recorder.observe(call)
            return
        thread = Thread(target=self._recorder.observe, args=(call,), daemon=True)
        thread.start()
        thread.join(SECONDS)
        self._is_hanging = thread.is_alive()

    async def end(self, number: int) -> None:
        """The turn that has begun is over; it is the one of this number. Takes at most two times SECONDS."""
        recorder, self._recorder = self._recorder, None
        if recorder is None or not recorder.calls or self._start is None:
            return
        deadline = time.monotonic() + SECONDS
        turn = None
        if not self._is_hanging:
            self._snapshots.begin()
            if await _in_thread(partial(recorder.close, deadline - (1 - _MOST) * SECONDS), SECONDS):
                last = await self._snapshots.taken()
                record = list[TurnFiles]()
                work = partial(self._record, record, number, recorder, self._start, last)
                await _in_thread(work, deadline + SECONDS - time.monotonic())
                turn = record[0] if record else None
        self._keep(turn or self._lost(number, recorder))
        await _in_thread(self._store.clean, deadline + SECONDS - time.monotonic())

    def plan(self, number: int, shown: OpenDocuments = NOTHING_OPEN) -> Plan:
        """What undoing a turn would do; nothing if it changed nothing, or is forgotten. Reads the files."""
        turn = self.turns.get(number, TurnFiles(number))
        beside = {os.path.realpath(path) for path in shown.beside}
        certain, uncertain, skipped = list[ChangedFile](), list[ChangedFile](), list[tuple[str, str]]()
        for file in turn.files:
            now = self._now(file.path)
            if now == file.before and not file.problem:
                continue
            is_open = os.path.join(self.tree.root, file.path) in beside
            is_unknown = not shown.notebook and file.path.endswith(".ipynb")
            open_as = NOTEBOOK_OPEN if is_open else NOTEBOOK_UNKNOWN if is_unknown else ""
            if problem := file.problem or open_as or (CHANGED_SINCE if now != file.after else ""):
                skipped.append((file.path, problem))
            else:
                (certain if file.is_certain else uncertain).append(file)
        return Plan(turn, tuple(certain), tuple(uncertain), tuple(skipped))

    def restore(self, plan: Plan, files: Sequence[ChangedFile]) -> Outcome:
        """Restore `files` of `plan`, each wholly or not at all; never over something that has changed since.

        A new file goes only when nothing is left of the turn that it may be the last copy of.
        """
        new = [file for file in files if file.before == ABSENT]
        old = [file for file in files if file.before != ABSENT]
        skipped = dict.fromkeys((file.path for file in (*new, *old)), "")
        skipped.update({file.path: self._restore_file(file) for file in old})
        missing = self._missing(plan.turn)
        for file in new:
            is_needed = file.source in missing or file.after.content in missing.values()
            skipped[file.path] = NEEDED if is_needed else self._restore_file(file)
        for folder in plan.turn.new_folders:
            self.tree.remove_empty(folder)
        for file in old:  # a new file may have been in the way
            if skipped[file.path]:
                skipped[file.path] = self._restore_file(file)
        done = (path for path, problem in skipped.items() if not problem)
        return Outcome(tuple(done), tuple((path, problem) for path, problem in skipped.items() if problem))

    def content_before(self, file: ChangedFile) -> bytes | None:
        """What `file` held before its turn; None if it was no file, or that is not saved. Reads at once."""
        return self._store.get(file.before.content) if file.before.kind == "file" else None

    def close(self) -> None:
        """Remove what is saved."""
        self._recorder = None
        self.turns.clear()
        self._store.close()

    def _is_excluded(self, path: str) -> bool:
        return path in self._notebooks or is_excluded(path)

    def _missing(self, turn: TurnFiles) -> dict[str, str]:
        """The files that do not hold what they held before, with that."""
        files = (file for file in turn.files if file.before.kind == "file" and file.before.content != _EMPTY)
        states = ((file, self._now(file.path)) for file in files)
        return {
            file.path: file.before.content for file, now in states if now is None or now.content != file.before.content
        }

    def _restore_file(self, file: ChangedFile) -> str:
        """Why not; empty if it was done."""
        data = self._content(file.before.content) if file.before.kind == "file" else b""
        if data is None or not file.before.is_restorable:
            return _GONE
        try:
            return "" if self.tree.replace(file.path, file.after, file.before, data) else CHANGED_SINCE
        except OSError as error:
            return error.strerror or str(error)

    def _content(self, digest: str) -> bytes | None:
        data = self._store.get(digest)
        return self._shadow.content(digest) if data is None else data

    def _now(self, path: str) -> FileState | None:
        try:
            return self.tree.observe(path)
        except OSError:
            return None

    def _record(
        self,
        record: list[TurnFiles],
        number: int,
        recorder: TurnRecorder,
        start: Snapshot | SnapshotError,
        end: Snapshot | SnapshotError,
    ) -> None:
        """In a thread, which has half of SECONDS for each thing that git has to say."""
        first, last = (each if isinstance(each, Snapshot) else None for each in (start, end))
        self._shadow.recover(recorder.late_contents(first), _HALF * SECONDS)
        files = list(recorder.finish(first, last))
        commands = _commands(recorder, self.tree.root)
        turn = TurnFiles(
            number,
            self._checked(files),
            recorder.new_folders(files),
            commands,
            (*recorder.notes, *(_notes(start, end) if commands else ())),
        )
        record.append(turn)  # what follows may take too long
        self._shadow.recover({file.before.content for file in files if file.before.kind == "file"}, _HALF * SECONDS)

    def _checked(self, files: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
        """With the reasons why they cannot be restored."""
        return tuple(replace(file, problem=file.problem or self._problem(file.before)) for file in files)

    def _problem(self, before: FileState) -> str:
        is_unsaved = before.kind == "file" and not self._shadow.has(before.content)
        return _PROBLEMS.get(before.kind, _UNSAVED if is_unsaved else "")

    def _lost(self, number: int, recorder: TurnRecorder) -> TurnFiles:
        """What is known without looking again."""
        files, commands = self._checked(recorder.finish(None, None)), _commands(recorder, self.tree.root)
        return TurnFiles(number, files, recorder.new_folders(files), commands, (LOST,))

    def _keep(self, turn: TurnFiles) -> None:
        """Forget the oldest turns if there is too much."""
        if turn.files or turn.commands or turn.notes:
            self.turns[turn.number] = turn
        while len(self.turns) > MAX_TURNS or (len(self.turns) > 1 and self._forget_unused() > MAX_SAVED_BYTES):
            del self.turns[min(self.turns)]
        self._forget_unused()

    def _forget_unused(self) -> int:
        """The bytes that turns need."""
        needed = {file.before.content for turn in self.turns.values() for file in turn.files}
        self._store.keep_only(needed | self._shadow.digests)
        return self._store.size


async def _in_thread(work: Callable[[], object], seconds: float) -> bool:
    """Whether it was done in time."""
    with anyio.move_on_after(seconds) as scope:
        await to_thread.run_sync(work, abandon_on_cancel=True)
    return not scope.cancelled_caught


def _commands(recorder: TurnRecorder, root: str) -> tuple[str, ...]:
    return tuple(command.title for command in changes_of(recorder.calls, root).commands)


def _notes(start: Snapshot | SnapshotError, end: Snapshot | SnapshotError) -> tuple[str, ...]:
    """What may have changed without being known."""
    for each in (start, end):
        if isinstance(each, SnapshotError):
            why = str(each) or "the folder is not in a git work tree"
            return (f"Only files that edits name are covered, none that commands changed: {why}.",)
    assert isinstance(start, Snapshot)
    assert isinstance(end, Snapshot)
    return tuple(
        f"{why}; not covered: {named(sorted(paths))}."
        for why, paths in (
            ("Too much to save it all", {*start.skipped, *end.skipped}),
            ("Not everything could be read", {*start.unread, *end.unread}),
        )
        if paths
    )
