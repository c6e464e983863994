"""Undo in a conversation: each turn is recorded, and the agent learns with the next prompt what was restored.

Only the session whose turn it was learns it: another one has not seen those changes.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from ..acp.messages import Block, TextBlock
from ..config import Settings
from ..errors import UsageError
from ..notebook.live import OpenDocuments
from ..places import notebook_at_start
from ..rendering.plain import first_of
from ..undo.cells import CellLog
from ..undo.history import NOT_ALL_RECORDED, Outcome, Recording, UndoHistory, UndoPlan
from ..undo.record import ChangedFile, ListedChange, TurnFiles, listed
from ..undo.tree import UNKNOWN
from .turn_end import NotebookInTurn

UNDO_OFF = "Undo is off: the setting `undo` is false."
UNDONE_PREAMBLE = (
    "[Copilot Kernel] The user has undone changes of yours. These files have their earlier content again; read "
    "them before you change them: {}"
)
MAX_NAMED_FILES = 50


class Undo:
    """Undo history of one conversation, whose agent works in the folder of `settings`. `turns` is held while a turn
    runs.
    """

    def __init__(
        self, settings: Settings, state: Path, turns: anyio.Lock, notebook: NotebookInTurn | None = None
    ) -> None:
        self.history = UndoHistory(settings.folder, state, notebook_at_start())
        self._turns, self._is_on, self._notebook = turns, settings.undo, notebook
        # By session, what it has to know; the session of the last prompt, and how much of it went with that.
        self._undone: dict[str, list[str]] = {}
        self._session, self._announced = "", 0
        self._session_of: dict[int, str] = {}
        self._mark = secrets.token_hex(2)

    @property
    def turns(self) -> tuple[TurnFiles, ...]:
        """Return the turns that changed or ran something, in order. Raises UsageError if they are not recorded."""
        return tuple(turn for _, turn in sorted(self._recorded().turns.items()))

    @property
    def changes(self) -> tuple[ListedChange, ...] | None:
        """Return the changes of `turns`; None if they are not recorded."""
        return tuple(listed(self.turns)) if self._is_on else None

    def key(self, number: int) -> str:
        """Names a turn, also beside those of other conversations; empty if it is not known to have changed anything."""
        turn = self.history.turns.get(number, TurnFiles(number))
        return f"{number}-{self._mark}" if turn.files or turn.cells.changes or NOT_ALL_RECORDED in turn.notes else ""

    def number(self, key: str) -> int:
        """Return the number of the turn that `key` names, or a number. Raises UsageError if it is not recorded."""
        number, _, mark = key.partition("-")
        if not number.isdecimal() or int(number) not in self._recorded().turns or mark not in ("", self._mark):
            raise UsageError(f"Turn {key} changed nothing, or is no longer known.", "%changes lists the turns.")
        return int(number)

    def uncertain(self, number: int) -> tuple[ChangedFile, ...]:
        """Return changes seen during turn `number` that may not be the agent's."""
        files = self.history.turns.get(number, TurnFiles(number)).files
        seen = (file for file in files if file.before != file.after and UNKNOWN not in (file.before, file.after))
        return tuple(file for file in seen if not file.is_certain)

    @asynccontextmanager
    async def recording(self, number: Callable[[], int]) -> AsyncIterator[Recording | None]:
        """Record a turn; `number` returns its number at the end."""
        recording = self.history.begin() if self._is_on else None
        cells = self._notebook.log if self._notebook else CellLog()
        try:
            yield recording
        finally:
            self._session_of[number()] = self._session
            if recording:
                with anyio.CancelScope(shield=True):
                    await self.history.end(recording, number())
                self.history.leave_out(self._notebook.paths if self._notebook else ())
                if cells.changes:
                    turn = self.history.turns.get(number(), TurnFiles(number()))
                    self.history.turns[number()] = replace(turn, cells=cells)

    async def plan(self, number: int, shown: OpenDocuments) -> UndoPlan:
        """Return `UndoHistory.plan`. Raises UsageError if turns are not recorded."""
        self.history.leave_out(shown.notebook)
        return await to_thread.run_sync(self._recorded().plan, number, shown)

    def undone(self, number: int, names: Sequence[str]) -> None:
        """The agent has to know that these were restored, which turn `number` had changed."""
        self._undone.setdefault(self._session_of.get(number, ""), []).extend(names)

    async def restore(self, plan: UndoPlan, files: Sequence[ChangedFile]) -> Outcome:
        """Restore `files` of `plan`, between two turns."""
        async with self._turns:
            outcome = await to_thread.run_sync(partial(self._recorded().restore, plan, files))
        self.undone(plan.turn.number, outcome.done)
        return outcome

    def begun(self, session: str) -> None:
        """Note that the prompt of the turn goes to `session`."""
        self._session, self._announced = session, 0

    def preamble(self) -> tuple[Block, ...]:
        """Return what the agent has to know with this prompt. It goes with each prompt until it is acknowledged."""
        undone = self._undone.get(self._session, [])
        self._announced = len(undone)
        if not undone:
            return ()
        return (TextBlock(UNDONE_PREAMBLE.format(first_of(dict.fromkeys(undone), MAX_NAMED_FILES))),)

    def acknowledge(self, stop_reason: str) -> None:
        """Note that the agent has answered the prompt with the last preamble. What it refused, it may forget."""
        if stop_reason not in ("cancelled", "refusal"):
            del self._undone.get(self._session, [])[: self._announced]

    def _recorded(self) -> UndoHistory:
        if not self._is_on:
            raise UsageError(UNDO_OFF)
        return self.history
