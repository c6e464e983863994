"""The conversation as it stands, and the views and observers that see it change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import anyio
from msgspec.structs import replace

from ..acp.agent_connection import Session
from ..acp.messages import (
    AvailableCommand,
    Block,
    CommandsUpdate,
    Diff,
    NoticeUpdate,
    SessionState,
    ToolCallUpdate,
    Update,
)
from ..conversation import reduce
from ..conversation.excerpt import Excerpt
from ..conversation.model import Conversation, Entry, ToolCall
from ..host import DiskStage
from ..undo.history import Recording
from .turn import Turn, TurnKind, View

Observer = Callable[[Update | None], None]

# How many turns back a late update is still drawn into the cell that owns it.
MAX_VIEWS = 50


class CallStage(DiskStage["ConversationState"]):
    """Adds to calls of the conversation what only the disk tells."""

    delays_views = True
    """Views see a change when the stage has looked at those before it."""

    @abstractmethod
    def see(self, state: ConversationState, call: ToolCall, *, is_new: bool) -> None:
        """See a call that is new or has changed, before any view."""


class ConversationState:
    """One conversation. An update of the agent's passes, in this order:

    1. `merge`, if it is about a call, and 2. `withhold`: these work on updates, and get the conversation until then;
    3. `reduce`: the next conversation;
    4. the recording of the running turn, and `stages`, which see each call that is new or has changed.

    The last ones wait for the disk, each with a worker of its own. While a prompt runs, views see changes when the
    stages have looked at those before them.
    """

    def __init__(
        self,
        merge: Callable[[ToolCallUpdate, Conversation], ToolCallUpdate] = lambda update, before: update,
        withhold: Callable[[Update, Conversation], Iterable[Update]] = lambda update, before: (update,),
        stages: Sequence[CallStage] = (),
    ) -> None:
        self.conversation = Conversation()
        self.running: Turn | None = None
        # The session was resumed for the running or the next turn: some agents send its history late.
        self.is_resumed = False
        # Each is called after each change, with the update that made it, or None.
        self.observers: list[Observer] = []
        # Each is called after each change to anything but entries, such as the session, and when a turn begins or ends.
        self.session_observers: list[Callable[[], object]] = []
        self._merge, self._withhold, self.stages = merge, withhold, stages
        # By id, the entries that views have not seen as they are now, in order.
        self._unshown: dict[int, Entry] = {}
        # Those of recent turns.
        self.views: dict[int, View] = {}
        self._pending: list[NoticeUpdate] = []

    def begin(
        self, kind: TurnKind, view: View, blocks: Sequence[Block] = (), recording: Recording | None = None
    ) -> Turn:
        """Begin a turn, with the prompt `blocks`, and show the notices that came between turns."""
        self.running = turn = Turn(kind, self.conversation.turn + 1, view, recording)
        self.views[turn.number] = view
        self.views.pop(turn.number - MAX_VIEWS, None)
        begun = reduce.begin_turn(self.conversation, blocks)
        self.advance(begun if kind == "prompt" else replace(begun, live=False))
        pending, self._pending = self._pending, []
        for notice in pending:
            self.update(notice)
        return turn

    def end(self, stop_reason: str) -> None:
        """End the turn."""
        self.status("")
        self.running, self.is_resumed = None, False
        self.advance(reduce.end_turn(self.conversation, stop_reason))

    @property
    def prompt_runs(self) -> bool:
        """True while the agent answers a prompt."""
        return self.running is not None and self.running.kind == "prompt"

    def open_session(self, session: SessionState) -> None:
        """Note that updates belong to this session from now on."""
        self.advance(replace(self.conversation, state=session, commands=(), usage=None, title=""))

    def set_session(self, session: SessionState) -> None:
        """Note how the session is set now."""
        self.advance(replace(self.conversation, state=session))

    def receive(self, update: Update) -> None:
        """Take in an update from the agent."""
        if isinstance(update, ToolCallUpdate):
            update = self._merge(update, self.conversation)
        for each in self._withhold(update, self.conversation):
            self.update(each)

    def update(self, update: Update) -> None:
        """Take in an update of our own, or one of the agent's that has passed the stages."""
        self.advance(reduce.reduce(self.conversation, update), update)

    def decide(self, entry_id: int, *, allowed: bool | None, words: str) -> None:
        """Note what became of a permission request; None: it was cancelled."""
        self.advance(reduce.decide(self.conversation, entry_id, allowed, words))

    def stop(self, why: str) -> None:
        """Stop the running turn, if there is one that is not stopped yet, and say why."""
        if self.running and not self.running.stop.pressed:
            self.running.stop.press(by_user=False)
            self.notify("error", why)

    def notify(self, severity: str, title: str) -> None:
        """Show the user a line; between two turns it waits for the next one."""
        notice = NoticeUpdate(severity, title)
        if self.running is None:
            self._pending.append(notice)
        else:
            self.update(notice)

    async def commands_within(self, seconds: float) -> tuple[AvailableCommand, ...]:
        """The agent's commands, which it may tell only some time after it has opened the session."""
        if not self.conversation.commands:
            await self.until(lambda update: isinstance(update, CommandsUpdate), seconds)
        return self.conversation.commands

    async def until(self, has_come: Callable[[Update | None], bool], seconds: float) -> None:
        """Wait for a change, by the update that made it, for at most `seconds`."""
        changed = anyio.Event()
        with self.observed(lambda update: changed.set() if has_come(update) else None), anyio.move_on_after(seconds):
            await changed.wait()

    @contextmanager
    def observed(self, observe: Observer) -> Iterator[None]:
        """Inside, `observe` is one of the observers."""
        self.observers.append(observe)
        try:
            yield
        finally:
            self.observers.remove(observe)

    async def settle(self) -> None:
        """Wait until what waits for the disk is known, and views have seen it; little more than a second."""
        if self.running and self.running.recording:
            await self.running.recording.settle(None)
        for stage in self.stages:
            await stage.settle(self)

    def add_found(
        self, entry_id: int, excerpts: Mapping[Diff, Excerpt | None], deletes: tuple[str, bool | None] | None
    ) -> None:
        """Add to a call the places of its diffs, and what it deletes."""
        call = self.conversation.entries[entry_id]
        if isinstance(call, ToolCall):
            found = replace(call, excerpts={**call.excerpts, **excerpts}, deletes=deletes or call.deletes)
            self.advance(self.conversation.with_entry(found))

    def status(self, words: str) -> None:
        """Show a transient line in the running turn."""
        if self.running is not None:
            self.running.view.status(words)

    def advance(self, after: Conversation, update: Update | None = None) -> None:
        """Make `after` the conversation, and show what changed."""
        before, self.conversation = self.conversation, after
        entries, known = reduce.changed(before, after), len(before.entries)
        for entry in entries:
            self._unshown[entry.id] = entry
            if isinstance(entry, ToolCall):
                if self.running and self.running.recording:
                    self.running.recording.add(entry)
                for stage in self.stages:
                    stage.see(self, entry, is_new=entry.id >= known)
        if not (self.prompt_runs and any(stage.delays_views and stage.waiting for stage in self.stages)):
            self._show()
        for observe in self.observers:
            observe(update)
        if not entries or after.live != before.live:
            for observe_session in self.session_observers:
                observe_session()

    def _show(self) -> None:
        changed, self._unshown = self._unshown, {}
        for entry in changed.values():
            if view := self.views.get(entry.turn):
                view.show(entry)


# -- updates of the session of the conversation, which agents may send before its id is known ------------------------

# The session that each names, and the update.
Early = list[tuple[str, Update]]


class SessionUpdates:
    """`session` is the one that is open, or was when the agent ended."""

    def __init__(self, state: ConversationState) -> None:
        self.session: Session | None = None
        self._state = state
        # The id of the session that is being opened, empty for a new one, and what came before it was known.
        self._opening: str | None = None
        self._early: Early = []

    @property
    def current(self) -> Session | None:
        """The open session, if the agent lives."""
        return None if self.session is None or self.session.connection.closed.is_set() else self.session

    def begin(self, session_id: str) -> None:
        """Keep what comes until the session is open; a new one has no id yet."""
        self._opening, self._early = session_id, []

    def end(self) -> Early:
        """Return what was kept."""
        early, self._opening, self._early = self._early, None, []
        return early

    def serves(self, session_id: str) -> bool:
        """Return True if a request that names the session is for us; agents know the id of a new one before we do."""
        return any(id in ("", session_id) for id in (self.session and self.session.id, self._opening))

    def receive(self, session_id: str, update: Update) -> None:
        """Take in an update, unless it is of another session, as over TCP; one that may be of a new session waits."""
        is_ours = self.session is not None and session_id in ("", self.session.id)
        if self._opening is not None and (session_id == self._opening or not is_ours):
            self._early.append((session_id, update))
        elif is_ours:
            self._state.receive(update)
