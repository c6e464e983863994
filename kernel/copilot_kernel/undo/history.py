"""History of what each turn changed, and how to restore it.

A failure to save does not raise: the turn continues, and its record names what cannot be restored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Thread

import anyio
from anyio import to_thread

from ..conversation.changes import changes_of
from ..conversation.model import ToolCall
from ..host import DiskStage
from ..notebook.live import OpenDocuments
from ..permissions.paths import is_never_written
from ..rendering.plain import first_of
from .cells import CHANGED_SINCE
from .record import ChangedFile, TurnFiles, TurnRecorder
from .repository import NO_GIT, SNAPSHOT_SECONDS, SNAPSHOT_TOO_SLOW, Repository, Snapshot
from .tree import ABSENT, Tree, digest_of

# Recorded turns; earlier ones cannot be undone.
MAX_TURNS = 50
# Failed snapshots in a row after which no more are taken. Each continues where the last one stopped.
MAX_FAILURES = 6
READING = "copilot-undo-read"
NOTEBOOK_OPEN = "it is open in another tab"
NOTEBOOK_UNKNOWN = "it may be this notebook, whose path is not known"
NOT_ALL_RECORDED = "Some changes were not recorded: the disk was too slow, or there were too many files."
CELLS_ONLY = f"Changes to files can't be undone here: {NO_GIT}."
NAMED_ONLY = "Changes made by commands can't be undone here: {}."
UNREAD = "Not everything could be read; not covered: {}."
NEEDED = "it may hold what could not be restored"
CONTENT_GONE = "its saved content is gone"
_EMPTY = digest_of(b"")


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """Effects of undoing a turn now.

    Only calls of the turn changed the `certain` files; something else may have changed the `uncertain` ones, too.
    `skipped` has the other files, each with the reason.
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
    """Takes snapshots in a thread, one at a time. Stops after `MAX_FAILURES` failures in a row."""

    def __init__(self, repository: Repository) -> None:
        self._repository, self._failures, self._deadline = repository, 0, 0.0
        self._is_over, self._thread = Event(), Thread()
        # The snapshot that was begun last, once it is complete.
        self._taken: list[Snapshot] = []

    def begin(self, since: Snapshot | None = None) -> None:
        """Begin a snapshot, unless `prepare` has begun one that is still being taken."""
        self._deadline = time.monotonic() + SNAPSHOT_SECONDS
        is_made = self._thread.is_alive() and not self._is_over.is_set()
        if not is_made and self._failures < MAX_FAILURES:
            self._is_over, self._taken = Event(), []
            work = (self._thread, self._is_over, self._taken, since)
            self._thread = Thread(target=self._take, args=work, name="copilot-undo", daemon=True)
            self._thread.start()

    def wait(self) -> Snapshot:
        """Wait for the snapshot; cancel it if it takes longer than SNAPSHOT_SECONDS."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, self._deadline - time.monotonic()))
        self._is_over.set()
        taken = self._taken[0] if self._taken else Snapshot(SNAPSHOT_TOO_SLOW)
        self._failures = self._failures + 1 if taken.problem else 0
        return taken

    def _take(self, last: Thread, is_over: Event, taken: list[Snapshot], since: Snapshot | None) -> None:
        if last.is_alive():  # it was cancelled
            last.join()
        taken.append(self._repository.snapshot(is_over.is_set, since))


class Recording(DiskStage[None]):
    """Records one turn: the files that its calls name, and a snapshot before and after it.

    If the disk hangs, later changes of the turn cannot be undone.
    """

    def __init__(self, recorder: TurnRecorder, snapshots: _Snapshots) -> None:
        super().__init__()
        self._recorder, self._snapshots = recorder, snapshots
        self._start: Snapshot | None = None
        self._last, self._is_hanging = Thread(), False
        snapshots.begin()

    async def begun(self) -> None:
        """Wait until the agent may begin, at most SNAPSHOT_SECONDS after the beginning."""
        if self._start is None:
            self._start = await to_thread.run_sync(self._snapshots.wait, abandon_on_cancel=True)

    def add(self, call: ToolCall) -> None:
        """Note a new or changed call, which may write soon: its files are read at once, behind no other call's."""
        if not self._is_hanging and self._recorder.note(call):
            self._last = Thread(target=self._read, args=(call, self._last), name=READING, daemon=True)
            self._last.start()
            super().add(call)

    async def look(self, call: ToolCall) -> Callable[[None], None]:
        """Wait until the files of all calls are read."""
        last = self._last
        await self.soon(last.join)
        self._is_hanging = self._is_hanging or last.is_alive()
        return lambda _: None

    def _read(self, call: ToolCall, before: Thread) -> None:
        seen = self._recorder.read(call)
        if before.is_alive():
            before.join()
        if not self._is_hanging:
            self._recorder.look(call, seen)

    async def end(self, number: int) -> TurnFiles | None:
        """Return what turn `number` changed or ran; None if that is nothing."""
        await self.settle(None)
        recorder, start = self._recorder, self._start
        if start is None:
            return None
        commands = changes_of(tuple(recorder.calls.values()), recorder.tree.root).commands
        lost = tuple(recorder.finish(Snapshot(NOT_ALL_RECORDED), start))
        notes = (NOT_ALL_RECORDED,) if recorder.calls else ()  # hooks and sub-agents change files without a call, too
        turns = [TurnFiles(number, lost, commands=commands, notes=notes)]
        if not self._is_hanging:
            self._snapshots.begin(start)
            with anyio.move_on_after(2 * SNAPSHOT_SECONDS):
                work = partial(self._finished, turns[0], start)
                turns.append(await to_thread.run_sync(work, abandon_on_cancel=True))
        if not (turns[-1].files or commands or turns[-1].notes):
            return None
        return replace(turns[-1], new_folders=tuple(sorted(recorder.new_folders, key=len, reverse=True)))

    def _finished(self, turn: TurnFiles, start: Snapshot) -> TurnFiles:
        """Return the record with the files as they are now. Runs in a thread."""
        self._recorder.close()
        end = self._snapshots.wait()
        files = tuple(self._recorder.finish(start, end))
        problem, unread = start.problem or end.problem, sorted({*start.unread, *end.unread})
        if problem == NO_GIT:
            return replace(turn, files=(), notes=(CELLS_ONLY,) if files or turn.commands else ())
        notes = (NAMED_ONLY.format(problem),) if problem else (UNREAD.format(first_of(unread)),) if unread else ()
        return replace(turn, files=files, notes=notes if turn.commands else ())


class UndoHistory:
    """Undo history of a conversation in `folder`; contents of files are saved below `state`.

    `notebook` is the notebook's path at the start.
    """

    def __init__(self, folder: str, state: Path, notebook: str = "") -> None:
        self.tree = Tree(folder)
        self._repository = Repository(self.tree, state / "undo")
        self._state = self.tree.relative(str(state))
        self._snapshots = _Snapshots(self._repository)
        # Turns by number, without those that changed nothing.
        self.turns: dict[int, TurnFiles] = {}
        self._notebooks: set[str] = set()
        self.leave_out([notebook] if notebook else [])

    def leave_out(self, notebook: Iterable[str]) -> None:
        """Exclude absolute paths where the notebook is, or may be, from all turns."""
        self._notebooks |= set(filter(None, map(self.tree.relative, notebook)))
        for number, turn in list(self.turns.items()):
            files = tuple(file for file in turn.files if not self._is_excluded(file.path))
            if files or turn.commands or turn.cells.changes or turn.notes:
                self.turns[number] = replace(turn, files=files)
            else:
                del self.turns[number]

    def prepare(self) -> None:
        """Take the first snapshot before the first turn begins, without waiting for it."""
        self._snapshots.begin()

    def begin(self) -> Recording:
        """Begin to record a turn."""
        return Recording(TurnRecorder(self.tree, self._repository.store, self._is_excluded), self._snapshots)

    async def end(self, recording: Recording, number: int) -> None:
        """Keep what was recorded as turn `number`. Takes at most twice SNAPSHOT_SECONDS."""
        if turn := await recording.end(number):
            self.turns[number] = turn
        while len(self.turns) > MAX_TURNS:
            del self.turns[min(self.turns)]

    def plan(self, number: int, shown: OpenDocuments) -> UndoPlan:
        """Return the plan for undoing a turn; empty if it changed nothing or is not recorded. Reads the files."""
        turn = self.turns.get(number, TurnFiles(number))
        beside = {os.path.realpath(path) for path in shown.beside}
        certain, uncertain, skipped = list[ChangedFile](), list[ChangedFile](), list[tuple[str, str]]()
        for file in turn.files:
            now = self.tree.read(file.path)[0]
            if now == file.before and not file.problem:
                continue
            is_open = os.path.join(self.tree.root, file.path) in beside
            is_unknown = not shown.notebook and file.path.endswith(".ipynb")
            reasons = ((NOTEBOOK_OPEN, is_open), (NOTEBOOK_UNKNOWN, is_unknown), (CHANGED_SINCE, now != file.after))
            if problem := file.problem or next((why for why, holds in reasons if holds), ""):
                skipped.append((file.path, problem))
            else:
                (certain if file.is_certain else uncertain).append(file)
        return UndoPlan(turn, tuple(certain), tuple(uncertain), tuple(skipped))

    def restore(self, plan: UndoPlan, files: Sequence[ChangedFile]) -> Outcome:
        """Restore `files` of `plan`, each completely or not at all, and no file that has changed since.

        Delete a new file only if it cannot be the last copy of a file that could not be restored.
        """
        new = [file for file in files if file.before == ABSENT]
        old = [file for file in files if file.before != ABSENT]
        skipped = dict.fromkeys((file.path for file in (*new, *old)), "")
        skipped.update({file.path: self._restore_file(file) for file in old})
        missing = self._missing(plan.turn)
        for file in new:
            is_needed = not file.sources.isdisjoint(missing) or file.after.content in missing.values()
            skipped[file.path] = NEEDED if is_needed else self._restore_file(file)
        for folder in plan.turn.new_folders:
            with suppress(OSError):
                self.tree.remove_empty(folder)
        for file in old:  # a new file may have been in the way
            if skipped[file.path]:
                skipped[file.path] = self._restore_file(file)
        done = (path for path, problem in skipped.items() if not problem)
        return Outcome(tuple(done), tuple((path, problem) for path, problem in skipped.items() if problem))

    def content_before(self, file: ChangedFile) -> bytes | None:
        """Return the content of `file` before its turn; None if it was not a regular file or is not saved. Blocks."""
        return self._repository.content(file.before.content) if file.before.kind == "file" else None

    def close(self) -> None:
        """Forget all turns and delete the saved contents."""
        self.turns.clear()
        self._snapshots.wait()
        self._repository.close()

    def _is_excluded(self, path: str) -> bool:
        """Return True for the notebook, checkpoints of notebooks, our own files, and files that no agent may write."""
        parts = path.split("/")
        if self._state and f"{path}/".startswith(f"{self._state}/"):
            return True
        return path in self._notebooks or ".ipynb_checkpoints" in parts or is_never_written(parts)

    def _missing(self, turn: TurnFiles) -> dict[str, str]:
        """Return the digests of former contents, by path, of files that no longer have them."""
        held = {file.path: file.before.content for file in turn.files if file.before.kind == "file"}
        return {
            path: content
            for path, content in held.items()
            if content != _EMPTY and self.tree.read(path)[0].content != content
        }

    def _restore_file(self, file: ChangedFile) -> str:
        """Restore a file. Return why that failed; empty on success."""
        data = b"" if file.before == ABSENT else self._repository.content(file.before.content)
        if data is None:
            return CONTENT_GONE
        try:
            return "" if self.tree.replace(file.path, file.after, file.before, data) else CHANGED_SINCE
        except OSError as error:
            return error.strerror or str(error)
