"""The conversation as it stands, and the views and observers that see it change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
from msgspec.structs import replace

from ..acp.messages import AvailableCommand, Block, CommandsUpdate, NoticeUpdate, SessionState, ToolCallUpdate, Update
from ..conversation import reduce
from ..conversation.model import Conversation, ToolCall
from .failures import SHOWN, FailureFilter, progress
from .turn import Stop, View

# How many turns back a late update is still drawn into the cell that owns it.
MAX_VIEWS = 50


@dataclass(slots=True)
class RunningTurn:
    """The turn that is running."""

    view: View
    stop: Stop
    # It shows an earlier conversation again: there is no prompt.
    is_replay: bool


class ConversationState:
    """One conversation. Every change passes `advance`, so that each view sees each change of its turn.

    `annotate` gets the conversation before and after each tool call update, and each decision, and returns the one to
    show. `reports_failures`: whether the agent reports failures of its model as text. `locate` returns a call with the
    places of its diffs, for display.
    """

    def __init__(
        self,
        annotate: Callable[[Conversation, Conversation], Conversation] = lambda before, after: after,
        reports_failures: Callable[[], bool] = lambda: False,
        locate: Callable[[ToolCall], ToolCall] = lambda call: call,
    ) -> None:
        self.conversation = Conversation()
        self.running: RunningTurn | None = None
        # The session was resumed for the running or the next turn: some agents send its history late.
        self.is_resumed = False
        # Each is called after each change, with the update that made it, or None.
        self.observers: list[Callable[[Update | None], None]] = []
        self.failures = FailureFilter()
        # What becomes of each update; see `MergedCalls`.
        self.redirect: Callable[[Update], Update] = lambda update: update
        self._annotate, self._reports_failures, self._locate = annotate, reports_failures, locate
        # What the agent itself says of a request that it tries again, until it goes on.
        self.progress = ""
        # Those of recent turns.
        self.views: dict[int, View] = {}
        self._pending: list[NoticeUpdate] = []

    def begin(self, blocks: Sequence[Block], view: View, stop: Stop) -> None:
        """Begin a turn, and show the notices that came between turns. Without blocks, it is a replay."""
        turn = self.conversation.turn + 1
        self.running, self.progress = RunningTurn(view, stop, is_replay=not blocks), ""
        self.views[turn] = view
        self.views.pop(turn - MAX_VIEWS, None)
        begun = reduce.begin_turn(self.conversation, blocks)
        self.advance(begun if blocks else replace(begun, live=False))
        pending, self._pending = self._pending, []
        for notice in pending:
            self.update(notice)

    def end(self, stop_reason: str) -> None:
        """End the turn."""
        self.status("")
        for update in self.failures.release():
            self._take(update)
        self.running, self.is_resumed = None, False
        self.advance(reduce.end_turn(self.conversation, stop_reason))

    @property
    def prompt_runs(self) -> bool:
        """Whether a turn runs that is not a replay."""
        return self.running is not None and not self.running.is_replay

    @property
    def stop(self) -> Stop | None:
        """That of the running turn."""
        return self.running.stop if self.running else None

    def open_session(self, session: SessionState) -> None:
        """Note that updates belong to this session from now on."""
        self.advance(replace(self.conversation, state=session, commands=(), usage=None, title=""))

    def set_session(self, session: SessionState) -> None:
        """Note how the session is set now."""
        self.advance(replace(self.conversation, state=session))

    def update(self, update: Update) -> None:
        """Take in an update from the agent."""
        update = self.redirect(update)
        if not (self.conversation.live and self._reports_failures()):
            self._take(update)
            return
        words = progress(update)
        if words or isinstance(update, SHOWN):
            self.progress = words
        for each in () if words else self.failures.passed(update):
            self._take(each)

    def _take(self, update: Update) -> None:
        before = self.conversation
        after = reduce.reduce(before, update)
        self.advance(self._annotate(before, after) if isinstance(update, ToolCallUpdate) else after, update)

    def decide(self, entry_id: int, *, allowed: bool | None, words: str) -> None:
        """Note what became of a permission request; None: it was cancelled."""
        before = self.conversation
        self.advance(self._annotate(before, reduce.decide(before, entry_id, allowed, words)))

    def notify(self, severity: str, title: str) -> None:
        """Show the user a line; between two turns it waits for the next one."""
        notice = NoticeUpdate(severity, title)
        if self.running is None:
            self._pending.append(notice)
        else:
            self.update(notice)

    async def commands_within(self, seconds: float) -> tuple[AvailableCommand, ...]:
        """The agent's commands, which it may tell only some time after it has opened the session."""
        told = anyio.Event()

        def observe(update: Update | None) -> None:
            if isinstance(update, CommandsUpdate):
                told.set()

        self.observers.append(observe)
        try:
            with anyio.move_on_after(0 if self.conversation.commands else seconds):
                await told.wait()
        finally:
            self.observers.remove(observe)
        return self.conversation.commands

    def status(self, words: str) -> None:
        """Show a transient line in the running turn."""
        if self.running is not None:
            self.running.view.status(words)

    def advance(self, after: Conversation, update: Update | None = None) -> None:
        """Make `after` the conversation, and show what changed."""
        entries = reduce.changed(self.conversation, after)
        for at, entry in enumerate(entries):
            if isinstance(entry, ToolCall) and (located := self._located(entry)) is not entry:
                entries[at], after = located, after.with_entry(located)
        self.conversation = after
        for entry in entries:
            if view := self.views.get(entry.turn):
                view.show(entry)
        for observe in self.observers:
            observe(update)

    def _located(self, call: ToolCall) -> ToolCall:
        """With the places of its diffs. What a replay shows was done long ago, to files that are different now."""
        return self._locate(call) if self.prompt_runs else call
