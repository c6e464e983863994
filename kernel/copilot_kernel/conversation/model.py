"""The conversation as immutable values: one sequence of entries, in the order in which they began.

An entry's `id` is its index in the sequence; `turn` is the number of the prompt (1, 2, …; 0 before the first) whose
cell owns it, so that a late update is drawn where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, zip_longest
from operator import attrgetter, is_not
from typing import Any, Literal, TypeVar, overload

from msgspec import Struct, field
from msgspec.structs import replace

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


class Message(Struct, frozen=True):
    """Text of one speaker, as markdown. Other content of a message is an `Attachment` after it.

    `is_over`: text that comes now may be another's; what continues a sentence belongs to it all the same. `of_task`:
    a sub-agent said it, and the speaker is "thought", since it is not said to the user.
    """

    id: int
    turn: int
    speaker: Speaker
    text: GrowingText
    message_id: str | None = None
    is_over: bool = False
    of_task: bool = False


class Attachment(Struct, frozen=True):
    """An image, sound, link, resource or unknown block of a message."""

    id: int
    turn: int
    speaker: Speaker
    block: Block


class CallOutcome(Struct, frozen=True):
    """Facts that determine the status of a tool call.

    `reported` is the agent's own status, `questions` counts the open permission requests, `asked` is the state of the
    newest one. `verdict` overrides the report: it was rejected or cancelled, or the turn ended without a final status.
    """

    reported: str = "pending"
    questions: int = 0
    asked: Literal["", "open", "allowed", "refused"] = ""
    verdict: Literal["", "rejected", "cancelled", "closed"] = ""


class Unasked(Struct, frozen=True):
    """A call ran without a question, or against the answer. `words` say so, or name the user's rule that covers it.

    `covered`: the user's own rule, mode or earlier "always" allows it, so it is not a warning.
    """

    words: str
    covered: bool = False


class ToolCall(Struct, frozen=True):
    """An action of the agent. `waiting`, `rejected` and `cancelled` are set by us, the other statuses by the agent.

    `decision` says what was decided about it and by whom ("allowed by you"); empty if never asked about.
    `unasked` is None as long as the call did nothing that it should have asked about.
    `fuller_title` is an earlier title that names the file, command or server, if `title` does not. For display only:
    `excerpts` says where in its file each diff was found when it first came, None if it was not; `deletes` is the text
    of the file that the call deletes, and whether Git tracks it; None until it was looked up.
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
    outcome: CallOutcome = CallOutcome()
    fuller_title: str = ""
    excerpts: Mapping[Diff, Excerpt | None] = field(default_factory=dict)
    deletes: tuple[str, bool | None] | None = None

    @property
    def best_title(self) -> str:
        """The title to show. Decisions are about `title`, the agent's newest words."""
        return self.fuller_title or self.title


class Plan(Struct, frozen=True):
    """The agent's plan; there is one for each turn, replaced as it changes."""

    id: int
    turn: int
    entries: tuple[PlanEntry, ...]
    description: str = ""


class Notice(Struct, frozen=True):
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


E = TypeVar("E", ToolCall, Plan, Notice)
_NAMES: dict[type[Entry], Callable[[Any], str | int]] = {
    ToolCall: attrgetter("call_id"),
    Plan: attrgetter("turn"),
    Notice: attrgetter("about"),
}
"""Name by which later updates find an entry of each type; an empty name finds nothing."""


BLOCK_ENTRIES = 100
"""Entries of one block, but for the last."""


class Entries(Sequence[Entry]):
    """Entries as an immutable value, in blocks: the next value copies only the block that differs.

    Those before index `first` are not kept; the others keep their indices, and all count for `len`. An entry keeps its
    kind and turn.
    """

    __slots__ = ("_blocks", "_length", "_names", "_unfinished", "first")

    def __init__(self, entries: Iterable[Entry] = (), first: int = 0) -> None:
        kept = [*entries]
        self.first, self._length = first, first + len(kept)
        self._blocks = [kept[at : at + BLOCK_ENTRIES] for at in range(0, len(kept), BLOCK_ENTRIES)]
        # The index of the newest entry of a kind that ever had this name, here or in a value that was made of this one.
        self._names: dict[tuple[type[Entry], str | int], int] = {}
        self._unfinished = frozenset[int]()
        for at, entry in enumerate(kept, first):
            self._note(at, entry)

    def put(self, entry: Entry) -> Entries:
        """These, with `entry` at the index that is its id: replaced, or added at the end."""
        after = Entries.__new__(Entries)
        after.first, after._length = self.first, max(self._length, entry.id + 1)
        after._names, after._unfinished = self._names, self._unfinished
        after._blocks = self._blocks.copy()
        number, at = divmod(entry.id - self.first, BLOCK_ENTRIES)
        block = self._blocks[number].copy() if number < len(self._blocks) else []
        block[at : at + 1] = [entry]
        after._blocks[number : number + 1] = [block]
        after._note(entry.id, entry)
        return after

    def _note(self, at: int, entry: Entry) -> None:
        if name := _NAMES.get(type(entry)):
            key = (type(entry), name(entry))
            self._names[key] = max(at, self._names.get(key, at))
        if isinstance(entry, ToolCall):
            others = self._unfinished - {at}
            self._unfinished = others if entry.status in FINAL else others | {at}

    def since_turn(self, turn: int) -> Entries:
        """These, without those of turns before `turn`."""
        first = next((entry.id for entry in self if entry.turn >= turn), self._length)
        return Entries(self[first:], first)

    def changed(self, before: Entries) -> list[Entry]:
        """Return the entries that `before` did not have, or had as other objects, in order."""
        aligned = before if before.first == self.first else Entries(before[self.first :], self.first)
        found = list[Entry]()
        for ours, theirs in zip_longest(self._blocks, aligned._blocks, fillvalue=list[Entry]()):
            if ours is not theirs:
                found += [*compress(ours, map(is_not, ours, theirs)), *ours[len(theirs) :]]
        return found

    @property
    def last(self) -> Entry | None:
        """The one that began last."""
        return self._blocks[-1][-1] if self._blocks else None

    def find(self, kind: type[E], name: str | int) -> E | None:
        """The newest tool call with this call id, notice about this, or plan of this turn."""
        at, name_of = self._names.get((kind, name)), _NAMES[kind]
        if name == "" or at is None:
            return None
        # The entry at that index may have another name, or not be there.
        newest = [self[at]] if at < self._length else []
        found = (entry for entry in chain(newest, reversed(self)) if isinstance(entry, kind))
        return next((entry for entry in found if name_of(entry) == name), None)

    def unfinished(self) -> list[ToolCall]:
        """The tool calls without a final status, in order."""
        entries = map(self.__getitem__, sorted(self._unfinished))
        return [entry for entry in entries if isinstance(entry, ToolCall)]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return tuple([*self][max(start - self.first, 0) : max(stop - self.first, 0) : step])
        at = range(self._length)[index] - self.first
        if at < 0:
            raise IndexError(f"entry {index} is not kept")
        return self._blocks[at // BLOCK_ENTRIES][at % BLOCK_ENTRIES]

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(self._blocks)

    def __reversed__(self) -> Iterator[Entry]:
        for block in reversed(self._blocks):
            yield from reversed(block)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def __repr__(self) -> str:
        return f"Entries({[*self]!r})"


class Conversation(Struct, frozen=True):
    """The entries of one session's last turns, and the session's current state.

    `live`: a turn is running; text from the user is then an echo of the prompt and not shown.
    """

    entries: Entries = field(default_factory=Entries)
    turn: int = 0
    live: bool = False
    state: SessionState | None = None
    commands: tuple[AvailableCommand, ...] = ()
    title: str = ""
    usage: UsageUpdate | None = None

    def of_turn(self, turn: int) -> tuple[Entry, ...]:
        """The entries of turn `turn`."""
        return tuple(entry for entry in self.entries if entry.turn == turn)

    @property
    def answer(self) -> str:
        """The agent's messages of the last turn, as Markdown, with blank lines between them."""
        messages = (entry for entry in self.of_turn(self.turn) if isinstance(entry, Message))
        return "\n\n".join(str(message.text) for message in messages if message.speaker == "agent")

    def call(self, call_id: str) -> ToolCall | None:
        """The newest tool call with this id; an empty one matches nothing."""
        return self.entries.find(ToolCall, call_id)

    def with_entry(self, entry: Entry) -> Conversation:
        """This conversation with `entry` at the index that is its id: replaced, or added at the end."""
        return replace(self, entries=self.entries.put(entry))
