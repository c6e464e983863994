"""Display of a cell's turn: entries go to its output, questions to the user.

The output is a notebook's (`output_area.py`: displays that are updated), a console's (`console.py`: lines that are
printed) or that of a batch run (`batch.py`: displays that are sent once).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..chat.turn_end import TurnEnd
from ..conversation.changes import TurnChanges
from ..conversation.model import Attachment, Entry, Message
from ..errors import trace
from ..permissions.question import PermissionAnswer, Question
from ..rendering.attachment import context_name
from ..views.open_question import OpenQuestion
from ..views.other_questions import ElicitationQuestion
from ..views.permission_question import PermissionQuestion
from .batch import Batch
from .cell import Cell
from .console import Console
from .output_area import OutputArea
from .questions import Questions, Reporter, TurnOutput

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Display:
    """The `View` of one cell. Paths inside the agent's folder `cwd` are shown relative to it.

    `replays`: the cell shows an earlier conversation, with the prompts. `activity_timeout`: for so many seconds
    a question counts as activity of the kernel. `reporter` gets reports of open questions.
    """

    def __init__(
        self,
        cell: Cell,
        reporter: Reporter,
        *,
        cwd: str = "",
        replays: bool = False,
        activity_timeout: float = 0.0,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._cell, self._cwd, self._replays = cell, cwd, replays
        self.attended = cell.live
        """True unless this is a batch run."""
        self._output = _output(cell, loop or asyncio.get_running_loop(), cwd)
        self.questions = Questions(cell, self._output, reporter, activity_timeout)
        self.end: TurnEnd | None = None
        """The end of the turn, once it is shown."""

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

    def status(self, words: str) -> None:
        """Show a passing line, where it can be taken away again."""
        self._output.status(words)

    async def ask(self, question: Question) -> PermissionAnswer:
        """The one answer to `question`; if this is cancelled, the question is withdrawn."""
        return await self.questions.ask(PermissionQuestion(question, self._cwd))

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Return what the user fills in or agrees to; if this is cancelled, the request is withdrawn."""
        return await self.questions.ask(ElicitationQuestion(request))

    async def drawn(self) -> None:
        """Draw what waits, in steps between which the event loop does other things; `finish` does it in one."""
        await self._output.drawn()

    def finish(self, end: TurnEnd) -> None:
        """The turn is over: send what waits, and its end."""
        self._output.settle()
        if self._replays:  # nothing was done now
            end = TurnEnd(replace(end.outcome, tool_calls=()), TurnChanges())
        self.end = end
        self._ending_ids = [
            self._output.add(*each) for each in end.shown(self._cell.wording, is_batch=not self._cell.live)
        ]

    def undone(self, files: Sequence[str], cells: Sequence[str]) -> TurnEnd:
        """These were restored (see `TurnEnd.without`): the end of the turn, updated where it can be."""
        assert self.end is not None
        self.end = self.end.without(files, cells)
        shown = self.end.shown(self._cell.wording, is_batch=not self._cell.live)
        for display_id, (bundle, metadata) in zip(self._ending_ids, shown, strict=False):
            if display_id:
                self._cell.update(bundle, display_id=display_id, metadata=metadata)
        return self.end

    def close(self) -> None:
        """Send what waits, also if the turn failed. What comes later is still drawn, as long as the kernel lives."""
        self._output.settle()


def _output(cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str) -> TurnOutput:
    if cell.server_run or not cell.live:
        return Batch(cell, cwd)
    return Console(cell, loop, cwd) if cell.cell_id is None else OutputArea(cell, loop, cwd)


async def ask(cell: Cell, reporter: Reporter, question: OpenQuestion[T], activity_timeout: float = 0.0) -> T:
    """Ask a question of our own in `cell`, outside of a turn. See `Display`."""
    display = Display(cell, reporter, activity_timeout=activity_timeout)
    try:
        return await display.questions.ask(question)
    finally:
        display.close()
