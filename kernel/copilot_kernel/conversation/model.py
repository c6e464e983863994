"""The conversation as immutable values: one sequence of entries, in the order in which they began.

An entry's `id` is its index in the sequence; `turn` is the number of the prompt (1, 2, …; 0 before the first) whose
cell owns it, so that a late update is drawn where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
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
    half: str = ""
    """The first half of a character, whose second half may come with the next text."""


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


class _Store:
    """The newest entries, from index `first` on, and where to find them."""

    def __init__(self, entries: Iterable[Entry], first: int = 0) -> None:
        self.first = first
        self.entries: list[Entry] = []
        self.names: dict[tuple[type[Entry], str | int], int] = {}
        """The index of the newest entry of a kind that ever had this name."""
        self.turns: dict[int, int] = {}
        """The index of the first entry of each turn."""
        self.unfinished: set[int] = set()
        """The indices of tool calls without a final status."""
        for at, entry in enumerate(entries, first):
            self.put(at, entry)

    def put(self, at: int, entry: Entry) -> None:
        index = at - self.first
        if index < len(self.entries):
            self.entries[index] = entry
        else:
            self.entries.append(entry)
            self.turns.setdefault(entry.turn, at)
        if name := _NAMES.get(type(entry)):
            key = (type(entry), name(entry))
            self.names[key] = max(at, self.names.get(key, at))
        if isinstance(entry, ToolCall):
            (self.unfinished.discard if entry.status in FINAL else self.unfinished.add)(at)


class Entries(Sequence[Entry]):
    """Entries as an immutable value, of which the newest can be changed in O(1).

    Values that came from one another share a store with the entries of the newest, and each knows what it replaced in
    the one before: to read an older one costs as much as has happened since. An entry keeps its kind and turn.

    Those before index `first` are not kept; the others keep their indices, and all count for `len`.
    """

    __slots__ = ("_length", "_next", "_put", "_replaced", "_store")

    def __init__(self, entries: Iterable[Entry] = (), first: int = 0) -> None:
        self._store = _Store(entries, first)
        self._length = first + len(self._store.entries)
        # The next value; what was put to make this one of another, and what it replaced there.
        self._next: Entries | None = None
        self._put: Entry | None = None
        self._replaced: Entry | None = None

    def put(self, entry: Entry) -> Entries:
        """These, with `entry` at the index that is its id: replaced, or added at the end."""
        if self._next is not None:
            return Entries(self, self.first).put(entry)
        after, store = Entries.__new__(Entries), self._store
        after._store, after._next, after._put, after._replaced = store, None, entry, None
        after._length = self._length
        if entry.id < self._length:
            after._replaced = store.entries[entry.id - store.first]
        else:
            after._length += 1
        self._next = after  # before the store changes: another thread may be reading this value
        store.put(entry.id, entry)
        return after

    @property
    def first(self) -> int:
        """The index of the first one that is kept."""
        return self._store.first

    def since_turn(self, turn: int) -> Entries:
        """These, without those of turns before `turn`."""
        first = next((at for number, at in self._own_store().turns.items() if number >= turn), self._length)
        return Entries(self[first:], first)

    def changed(self, before: Entries) -> list[Entry]:
        """Return the entries that `before` did not have, or had as other objects, in order."""
        if before._next is self and self._put is not None:  # nearly always
            return [self._put]
        found, value = dict[int, Entry](), before
        while value is not self:
            if value._next is None:  # neither came from the other
                numbered = enumerate(self, self.first)
                return [entry for at, entry in numbered if at >= len(before) or before[at] is not entry]
            value = value._next
            if value._put is not None:
                found[value._put.id] = value._put
        return [found[at] for at in sorted(found)]

    @property
    def last(self) -> Entry | None:
        """The one that began last."""
        entries = self._store.entries if self._next is None else self._as_list()
        return entries[-1] if entries else None

    def of_turn(self, turn: int) -> tuple[Entry, ...]:
        """Return the entries of turn `turn`."""
        store = self._own_store()
        first = store.turns.get(turn, self._length) - store.first
        return tuple(entry for entry in store.entries[first:] if entry.turn == turn)

    def find(self, kind: type[E], name: str | int) -> E | None:
        """The newest tool call with this call id, notice about this, or plan of this turn."""
        store, name_of = self._own_store(), _NAMES[kind]
        at = None if name == "" else store.names.get((kind, name))
        if at is None:
            return None
        # The entry at that index may have another name now.
        found = (
            entry
            for entry in chain((store.entries[at - store.first],), reversed(store.entries))
            if isinstance(entry, kind)
        )
        return next((entry for entry in found if name_of(entry) == name), None)

    def unfinished(self) -> list[ToolCall]:
        """The tool calls without a final status, in order."""
        entries = map(self.__getitem__, sorted(self._own_store().unfinished))
        return [entry for entry in entries if isinstance(entry, ToolCall)]

    def _own_store(self) -> _Store:
        return self._store if self._next is None else _Store(self, self.first)

    def _as_list(self) -> list[Entry]:
        entries, older, value = self._store.entries[: self._length - self.first], dict[int, Entry](), self._next
        while value is not None:
            if value._replaced is not None and value._replaced.id < self._length:
                older.setdefault(value._replaced.id, value._replaced)
            value = value._next
        for at, entry in older.items():
            entries[at - self.first] = entry
        return entries

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return tuple(self._as_list()[max(start - self.first, 0) : max(stop - self.first, 0) : step])
        at, store, value = index if index >= 0 else index + self._length, self._store, self._next
        if not store.first <= at < self._length:
            raise IndexError(f"there is no entry {index}, or it is not kept")
        entry = store.entries[at - store.first]
        while value is not None:
            if value._replaced is not None and value._replaced.id == at:
                return value._replaced
            value = value._next
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._as_list())

    def __reversed__(self) -> Iterator[Entry]:
        return reversed(self._as_list())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._as_list() == [*other]

    def __repr__(self) -> str:
        return f"Entries({self._as_list()!r})"


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

    @property
    def answer(self) -> str:
        """The agent's messages of the last turn, as Markdown, with blank lines between them."""
        messages = (entry for entry in self.entries.of_turn(self.turn) if isinstance(entry, Message))
        return "\n\n".join(str(message.text) for message in messages if message.speaker == "agent")

    def call(self, call_id: str) -> ToolCall | None:
        """The newest tool call with this id; an empty one matches nothing."""
        return self.entries.find(ToolCall, call_id)

    def with_entry(self, entry: Entry) -> Conversation:
        """This conversation with `entry` at the index that is its id: replaced, or added at the end."""
        return replace(self, entries=self.entries.put(entry))
