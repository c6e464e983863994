"""What was said, and the views that see it change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..acp.messages import Block, NoticeUpdate, SessionState, ToolCallUpdate, Update
from ..conversation import reduce
from ..conversation.model import Conversation
from .failures import Withheld
from .view import View

RECENT_TURNS = 50
"""So many turns back, a late update is still drawn into the cell that owns it."""


class ConversationState:
    """One conversation. Whatever changes it passes `advance`, so that each view sees each change of its turn."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.running: View | None = None
        """The view of the turn that runs."""
        self.replays = False
        """The turn that runs shows what was said before."""
        self.resumed = False
        """The session was gone on with in the turn that runs: some agents tell its history late."""
        self.on_change: Callable[[], None] = lambda: None
        self.judged: Callable[[Conversation, Conversation], Conversation] = lambda before, after: after
        """What is to be said of what the agent reports, is said before anybody sees it."""
        self.listeners: list[Callable[[Update], None]] = []
        """Each is called with each update, after it was taken in."""
        self.withheld = Withheld()
        self.reports_failures: Callable[[], bool] = lambda: False
        """Whether the agent reports failures of its model as text."""
        self._views: dict[int, View] = {}
        self._untold: list[NoticeUpdate] = []

    def begin(self, blocks: Sequence[Block], view: View) -> None:
        """A turn begins, and what had to be told meanwhile is told. Without blocks, it is what was said before."""
        turn = self.conversation.turn + 1
        self._views[turn] = self.running = view
        self._views.pop(turn - RECENT_TURNS, None)
        self.replays = not blocks
        begun = reduce.begin_turn(self.conversation, blocks)
        self.advance(begun if blocks else replace(begun, live=False))
        untold, self._untold = self._untold, []
        for notice in untold:
            self.update(notice)

    @property
    def runs(self) -> bool:
        """A turn runs, and is not a replay."""
        return self.running is not None and not self.replays

    def end(self, stop_reason: str) -> None:
        """The turn is over."""
        self.status("")
        for update in self.withheld.release():
            self._take(update)
        self.running, self.replays, self.resumed = None, False, False
        self.advance(reduce.end_turn(self.conversation, stop_reason))

    def opened(self, state: SessionState) -> None:
        """What the agent says from now on belongs to this session."""
        self.conversation = replace(self.conversation, state=state, commands=(), usage=None, title="")

    def set_state(self, state: SessionState) -> None:
        """We changed something of the session's."""
        self.conversation = replace(self.conversation, state=state)

    def update(self, update: Update) -> None:
        """Something came from the agent."""
        may_fail = self.conversation.live and self.reports_failures()
        for each in self.withheld.passed(update) if may_fail else (update,):
            self._take(each)

    def _take(self, update: Update) -> None:
        after = reduce.reduce(self.conversation, update)
        self.advance(self.judged(self.conversation, after) if isinstance(update, ToolCallUpdate) else after)
        for hear in self.listeners:
            hear(update)

    def tell(self, severity: str, title: str) -> None:
        """A line for the user; between two turns it waits for the next one."""
        notice = NoticeUpdate(severity, title)
        if self.running is None:
            self._untold.append(notice)
        else:
            self.update(notice)

    def status(self, words: str) -> None:
        """A passing line in the turn that runs."""
        if self.running is not None:
            self.running.status(words)

    def view_of(self, turn: int) -> View | None:
        """Who sees this turn, if it is not long ago."""
        return self._views.get(turn)

    def advance(self, after: Conversation) -> None:
        """The conversation is now `after`."""
        before, self.conversation = self.conversation, after
        self.on_change()
        for entry in reduce.changed(before, after):
            if view := self._views.get(entry.turn):
                view.show(entry)
