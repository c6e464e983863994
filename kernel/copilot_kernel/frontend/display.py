"""Display of a cell's turn: entries go to its output, questions to the user.

The output is a notebook's (`output_area.py`: displays that are updated), a console's (`console.py`: lines that are
printed) or that of a batch run (`batch.py`: displays that are sent once).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..chat.turn_record import metadata_of
from ..conversation.model import Attachment, Entry, Message
from ..errors import trace
from ..permissions.question import PermissionAnswer, Question
from ..rendering.attachment import context_name
from ..rendering.changes import TurnChanges, changes_of
from ..rendering.failure import render_failure
from ..rendering.footer import footer_bundles
from .batch import Batch
from .cell import Bundle, Cell
from .console import Console
from .open_question import OpenQuestion
from .other_questions import ElicitationQuestion
from .output_area import OutputArea
from .page_reporter import PageReporter
from .permission_question import PermissionQuestion
from .questions import Questions

if TYPE_CHECKING:
    from ..chat import TurnOutcome

T = TypeVar("T")

NO_OPTIONS = "the agent offered no answer"

_log = logging.getLogger(__name__)


class Display:
    """The `View` of one cell. Paths inside the agent's folder `cwd` are shown relative to it.

    `replays`: the cell shows an earlier conversation, with the prompts. `activity_timeout`: for so many seconds
    a question counts as activity of the kernel. `page` gets reports of open questions.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        cwd: str = "",
        replays: bool = False,
        activity_timeout: float = 0.0,
        loop: asyncio.AbstractEventLoop | None = None,
        page: PageReporter | None = None,
    ) -> None:
        self._cell, self._cwd, self._replays = cell, cwd, replays
        self._output = _output(cell, loop or asyncio.get_running_loop(), cwd)
        self.questions = Questions(cell, self._output, page or PageReporter(), activity_timeout)
        # For forms, which are no entries of the conversation: negative numbers.
        self._ids = count(-1, -1)
        self._turn: TurnOutcome | None = None
        self._changes: TurnChanges | None = None
        self._undone: dict[str, None] = {}

    def show(self, entry: Entry) -> None:
        """`entry` is new or changed; of a prompt, a replay shows all, and other cells what came from the notebook."""
        is_users = isinstance(entry, Message | Attachment) and entry.speaker == "user"
        is_context = isinstance(entry, Attachment) and context_name(entry.block) != ""
        if is_users and not (self._replays or is_context):
            return
        try:
            self._output.put(entry)
        # A bug in drawing one entry must not end the turn, nor the connection that the entry came by.
        except Exception as error:
            _log.error("an entry could not be shown: %s %d: %s", type(entry).__name__, entry.id, trace(error))

    @property
    def attended(self) -> bool:
        """True unless this is a batch run."""
        return self._cell.live

    def status(self, words: str) -> None:
        """Show a passing line, where it can be taken away again."""
        if isinstance(self._output, OutputArea):
            self._output.status(words)

    async def ask(self, question: Question) -> PermissionAnswer:
        """The one answer to `question`; if this is cancelled, the question is withdrawn."""
        if not question.options:
            return PermissionAnswer(None, "cancel", NO_OPTIONS)
        return await self.questions.ask(PermissionQuestion(question, self._cwd))

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Return what the user fills in or agrees to; if this is cancelled, the request is withdrawn."""
        return await self.questions.ask(ElicitationQuestion(next(self._ids), request))

    async def drawn(self) -> None:
        """Draw what waits, in steps between which the event loop does other things; `finish` does it in one."""
        if isinstance(self._output, OutputArea):
            await self._output.drawn()

    def finish(
        self, turn: TurnOutcome, cells: Sequence[tuple[str, str, str]] = (), changes: TurnChanges | None = None
    ) -> None:
        """The turn is over: send what waits, and its ending, with the record as metadata of what comes first.

        What a failed turn has changed stands below the error. `cells`: see `footer_bundles`. Without `changes`,
        those that the calls report.
        """
        self._output.settle()
        if self._replays:  # nothing was done now
            turn = replace(turn, tool_calls=())
        changes = changes or changes_of(turn.tool_calls, self._cwd)
        if not self._cell.live:  # another program's changes are not to be compared
            changes = replace(changes, also=(), more=0)
        self._turn, self._changes, self._cells = turn, changes, cells
        self._ending_ids = [self._output.add(*each) for each in self._endings(turn, changes)]

    def undone(self, files: Sequence[str], cells: Sequence[str]) -> None:
        """These files were restored, and all cells that it changed, if they are named: the ending says so.

        It is updated where it can be, and its record with it.
        """
        turn, before = self._turn, self._changes
        if turn is None or before is None:
            return
        left, also = ([each for each in group if each.path not in files] for group in (before.files, before.also))
        gone = (each.path for each in (*before.files, *before.also) if each.path in files)
        self._undone |= dict.fromkeys((*gone, *cells))
        self._changes, self._cells = replace(before, files=tuple(left), also=tuple(also)), () if cells else self._cells
        self._turn = turn if left or also or self._cells else replace(turn, undo="")
        shown = self._endings(self._turn, self._changes)
        for display_id, (bundle, metadata) in zip(self._ending_ids, shown, strict=False):
            if display_id:
                self._cell.update(bundle, display_id=display_id, metadata=metadata)

    def _endings(self, turn: TurnOutcome, changes: TurnChanges) -> Iterator[tuple[Bundle, dict[str, Any]]]:
        """Each with its metadata."""
        live, undone = self._cell.live, tuple(self._undone)
        record = metadata_of(turn, changes, is_batch=not live, undone=undone)
        failure = [render_failure(turn.failure)] if turn.failure is not None else []
        shown = footer_bundles(turn, changes, timed=live, cells=self._cells, undone=undone)
        yield from ((each, {} if number else record) for number, each in enumerate((*failure, *shown)))

    @property
    def changed_files(self) -> tuple[str, ...]:
        """Files that the turn has changed and that were not undone, also if it failed."""
        return tuple(file.path for file in self._changes.files) if self._changes else ()

    def close(self) -> None:
        """Send what waits, also if the turn failed. What comes later is still drawn, as long as the kernel lives."""
        self._output.settle()


def _output(cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str) -> Batch | Console | OutputArea:
    if not cell.live:
        return Batch(cell, cwd)
    return Console(cell, loop, cwd) if cell.cell_id is None else OutputArea(cell, loop, cwd)


async def ask(cell: Cell, question: OpenQuestion[T], activity_timeout: float = 0.0) -> T:
    """Ask a question of our own in `cell`, outside of a turn. See `Display`."""
    display = Display(cell, activity_timeout=activity_timeout)
    try:
        return await display.questions.ask(question)
    finally:
        display.close()
