"""The conversation as values that never change: one tuple of entries, in the order in which they began.

An entry's `id` is its place in the tuple; `turn` is the number of the prompt (1, 2, …; 0 before the first) whose
cell owns it, so that a late update is drawn where it belongs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..acp.messages import Block, Command, Location, PlanEntry, SessionState, Speaker, ToolContent, UsageUpdate
from .text import Growing

Status = Literal["pending", "waiting", "in_progress", "completed", "failed", "rejected", "cancelled"]
FINAL: frozenset[str] = frozenset({"completed", "failed", "rejected", "cancelled"})


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said, as markdown. Anything but text in a message is an `Attachment` after it."""

    id: int
    turn: int
    speaker: Speaker
    text: Growing
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image, sound, link, resource or unknown block that somebody sent."""

    id: int
    turn: int
    speaker: Speaker
    block: Block


@dataclass(frozen=True, slots=True)
class Standing:
    """What a tool call's status is made of; only the reducer looks at it."""

    reported: str = "pending"
    """How far the agent says that it is."""
    questions: int = 0
    """Permission requests about it that are open."""
    asked: Literal["", "open", "allowed", "refused"] = ""
    """What became of the newest permission request about it; empty: there was none."""
    verdict: Literal["", "rejected", "cancelled", "closed"] = ""
    """What we know better: somebody said no, it was cancelled, or the turn ended without a word about it."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """A call went on without a question, or against the answer. `words` say so, or what of the user's covers it."""

    words: str
    covered: bool = False
    """The user's own rule, mode or earlier "always" allows it: nobody is accused."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Something the agent does. `waiting`, `rejected` and `cancelled` are set by us, the other statuses by the agent.

    `decision` says in words what was decided about it and by whom ("Allowed: Allow once (you)"); empty if nobody asked.
    `unasked` is None as long as it did nothing that it should have asked about.
    """

    id: int
    turn: int
    call_id: str
    title: str = ""
    name: str = ""
    kind: str = "other"
    status: Status = "pending"
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    decision: str = ""
    unasked: Unasked | None = None
    standing: Standing = Standing()
    fuller_title: str = ""
    """An earlier title that names the file, command or server of the call, where `title` does not; for display only."""

    @property
    def best_title(self) -> str:
        """The title to show. Decisions are about `title`, the agent's newest words."""
        return self.fuller_title or self.title


@dataclass(frozen=True, slots=True)
class Plan:
    """The agent's plan; there is one for each turn, replaced as it changes."""

    id: int
    turn: int
    entries: tuple[PlanEntry, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the user; severity info, warning, error or unknown. `raw` is JSON that we could not read.

    Notices about one thing share a line: `about` names the thing, `count` says how often it came.
    """

    id: int
    turn: int
    severity: str
    title: str
    description: str = ""
    raw: Any = None
    about: str = ""
    count: int = 1


Entry = Message | Attachment | ToolCall | Plan | Notice


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything said so far in one session, and the session's present state."""

    entries: tuple[Entry, ...] = ()
    turn: int = 0
    live: bool = False
    """A turn is running: text from the user is then an echo of the prompt, and not shown."""
    state: SessionState | None = None
    commands: tuple[Command, ...] = ()
    title: str = ""
    usage: UsageUpdate | None = None

    def of_turn(self, turn: int) -> tuple[Entry, ...]:
        """The entries that turn `turn` owns."""
        return tuple(entry for entry in self.entries if entry.turn == turn)

    def with_entry(self, entry: Entry) -> Conversation:
        """This conversation with `entry` in the place that its id names: replaced, or added at the end."""
        return replace(self, entries=(*self.entries[: entry.id], entry, *self.entries[entry.id + 1 :]))
