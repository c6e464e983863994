"""The conversation as immutable values: one tuple of entries, in the order in which they began.

An entry's `id` is its index in the tuple; `turn` is the number of the prompt (1, 2, …; 0 before the first) whose
cell owns it, so that a late update is drawn where it belongs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..acp.messages import (
    AvailableCommand,
    Block,
    Diff,
    Location,
    PlanEntry,
    SessionState,
    Speaker,
    ToolContent,
    UsageUpdate,
)
from .excerpt import Excerpt
from .text import GrowingText

Status = Literal["pending", "waiting", "in_progress", "completed", "failed", "rejected", "cancelled"]
FINAL: frozenset[str] = frozenset({"completed", "failed", "rejected", "cancelled"})


@dataclass(frozen=True, slots=True)
class Message:
    """Text of one speaker, as markdown. Other content of a message is an `Attachment` after it."""

    id: int
    turn: int
    speaker: Speaker
    text: GrowingText
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image, sound, link, resource or unknown block of a message."""

    id: int
    turn: int
    speaker: Speaker
    block: Block


@dataclass(frozen=True, slots=True)
class Standing:
    """What a tool call's status is computed from.

    `reported` is the agent's own status, `questions` counts the open permission requests, `asked` is the state of the
    newest one. `verdict` overrides the report: it was rejected or cancelled, or the turn ended without a final status.
    """

    reported: str = "pending"
    questions: int = 0
    asked: Literal["", "open", "allowed", "refused"] = ""
    verdict: Literal["", "rejected", "cancelled", "closed"] = ""


@dataclass(frozen=True, slots=True)
class Unasked:
    """A call ran without a question, or against the answer. `words` say so, or name the user's rule that covers it.

    `covered`: the user's own rule, mode or earlier "always" allows it, so it is not a warning.
    """

    words: str
    covered: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An action of the agent. `waiting`, `rejected` and `cancelled` are set by us, the other statuses by the agent.

    `decision` says what was decided about it and by whom ("Allowed: Allow once (you)"); empty if never asked about.
    `unasked` is None as long as the call did nothing that it should have asked about.
    For display only: `fuller_title` is an earlier title that names the file, command or server, if `title` does not;
    `excerpts` says where in its file each diff was found when it first came, None if it was not.
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
    excerpts: Mapping[Diff, Excerpt | None] = field(default_factory=dict, compare=False, repr=False)

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
    """A line for the user; severity info, warning, error or unknown. `raw` is JSON that could not be interpreted.

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
    """All entries of one session, and the session's current state.

    `live`: a turn is running; text from the user is then an echo of the prompt and not shown.
    """

    entries: tuple[Entry, ...] = ()
    turn: int = 0
    live: bool = False
    state: SessionState | None = None
    commands: tuple[AvailableCommand, ...] = ()
    title: str = ""
    usage: UsageUpdate | None = None

    def of_turn(self, turn: int) -> tuple[Entry, ...]:
        """The entries of turn `turn`."""
        return tuple(entry for entry in self.entries if entry.turn == turn)

    def with_entry(self, entry: Entry) -> Conversation:
        """This conversation with `entry` at the index that is its id: replaced, or added at the end."""
        return replace(self, entries=(*self.entries[: entry.id], entry, *self.entries[entry.id + 1 :]))
