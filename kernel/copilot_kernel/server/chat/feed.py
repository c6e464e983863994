"""The feed of a conversation's entries: each change once, with what is new of it.

The messages that clients know are views of it, composed for each socket: `messages`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, assert_never

from msgspec import Struct, structs

from ...acp.messages import Block, ResourceLink
from ...conversation import raw
from ...conversation.model import FINAL, Attachment, Entry, Message, Notice, Plan, ToolCall
from ...rendering.output import shortened
from ...rendering.plain import encodable, visible_line
from . import wire
from .history import prompt_text
from .html import EntryHtml
from .media import CARD_TYPE, StoredFile, card, is_file
from .wire import event, notice

SaveFile = Callable[[Block], StoredFile | None]
"""Saves the content of a block; None if it holds no file."""

MAX_RESULT_CHARS = 100_000
MAX_ARGUMENTS_CHARS = 500_000


class EntryChange(Struct, frozen=True, dict=True):
    """`entry` was `before`; None if it is new. `text` is what is new of a message, `call_id` the id of a tool call.

    Its messages are composed when the first socket needs them.
    """

    entry: Entry
    before: Entry | None = None
    text: str = ""
    call_id: str = ""

    @property
    def has_ended(self) -> bool:
        """A tool call has got its final status."""
        status = getattr(self.entry, "status", "")
        return status in FINAL and status != getattr(self.before, "status", "")

    @cached_property
    def news(self) -> tuple[wire.SocketMessage, ...]:
        """Messages that HTML shows otherwise."""
        return tuple(_news(self))

    @cached_property
    def result(self) -> tuple[wire.SocketMessage, ...]:
        """End of a tool call, and then what a command printed, which HTML shows otherwise."""
        return tuple(_result(self.entry, self.call_id)) if isinstance(self.entry, ToolCall) and self.has_ended else ()


Update = EntryChange | EntryHtml | wire.SocketMessage
"""Update for subscribers."""


class CallIds:
    """A unique id for each tool call of a conversation: agents reuse theirs."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}
        self._taken: set[str] = set()
        self._questions: set[str] = set()

    def of(self, call: ToolCall) -> str:
        """The agent's id for the first call that has it."""
        if call.id not in self._ids:
            id = call.call_id if call.call_id and call.call_id not in self._taken else f"{call.call_id}~{call.id}"
            self._taken.add(id)
            self._ids[call.id] = id
        return self._ids[call.id]

    def of_question(self, call: ToolCall | None) -> str:
        """The call's id for its first question only: a late answer to that one must not answer the next."""
        id = self.of(call) if call else ""
        if not id or id in self._questions:
            id = f"{id}~question{len(self._questions)}"
        self._questions.add(id)
        return id


class EntryFeed:
    """Knows what was told of each entry. `files` are the messages with the files of each."""

    def __init__(self, call_ids: CallIds, save_file: SaveFile) -> None:
        self.files: dict[int, tuple[wire.SocketMessage, ...]] = {}
        self._call_ids, self._save_file = call_ids, save_file
        self._told: dict[int, Entry] = {}
        # The turn in which the agent has sent text.
        self._answered: int | None = None

    def changes(self, entry: Entry) -> Iterator[Update]:
        """Return what is new of `entry`."""
        before = self._told.get(entry.id)
        self._told[entry.id] = entry
        change = EntryChange(entry, before, self._new_text(entry, before), self._call_id(entry))
        yield change
        if files := tuple(self._saved(entry.id, _blocks(change))):
            self.files[entry.id] = files
            yield from files

    def again(self, entry: Entry) -> Iterator[Update]:
        """Return what was sent of `entry` so far, but not its text, for a subscriber that joins during a turn."""
        if isinstance(entry, ToolCall | Plan):
            yield EntryChange(entry, call_id=self._call_id(entry))
        yield from self.files.get(entry.id, ())

    def _call_id(self, entry: Entry) -> str:
        return self._call_ids.of(entry) if isinstance(entry, ToolCall) else ""

    def _new_text(self, entry: Entry, before: Entry | None) -> str:
        if not isinstance(entry, Message):
            return ""
        start = len(before.text) if isinstance(before, Message) else 0
        text = "".join(entry.text.parts(start))
        if not text or entry.speaker != "agent":
            return text
        gap = "\n\n" if not start and self._answered == entry.turn else ""
        self._answered = entry.turn
        return gap + text

    def _saved(self, entry: int, blocks: Sequence[Any]) -> Iterator[wire.SocketMessage]:
        files = [file for each in blocks if is_file(each) and (file := self._save_file(each)) is not None]
        cards = [content for each in blocks if (content := card(each)) is not None]
        if files:
            told = [{"url": each.url, "mime": each.mime, "name": each.name} for each in files]
            yield wire.SocketMessage("media", {"files": told, "entry": entry})
        if cards:
            told = [{"contentType": CARD_TYPE, "content": each} for each in cards]
            yield wire.SocketMessage("cards", {"cards": told, "entry": entry})


def _blocks(change: EntryChange) -> Sequence[Any]:
    """Return what the agent sent besides text."""
    match change.entry:
        case ToolCall() as call if change.has_ended:
            return (*call.content, *raw.attachments(call))
        case Attachment(speaker="agent" | "thought", block=block):
            return (block,)
    return ()


def tool(call: ToolCall) -> str:
    """The tool's name: agents rarely report it, but always its kind."""
    return call.name or call.kind


def arguments(given: object) -> str:
    """The tool's input as JSON."""
    if given is None:
        return "{}"
    return shortened(json.dumps(encodable(given), ensure_ascii=False), MAX_ARGUMENTS_CHARS)


# -- views of a change ------------------------------------------------------------------------------------------------


def messages(update: Update, with_html: bool) -> Iterator[wire.SocketMessage]:
    """Return the messages that a socket sends of `update`: entries as deltas and events, or as HTML."""
    match update:
        case wire.SocketMessage():
            yield update
        case EntryHtml():
            if with_html:
                yield event("entry", **structs.asdict(update))
        case EntryChange() if with_html:
            yield from update.result[:1]
        case EntryChange():
            yield from update.news
            yield from update.result


def _news(change: EntryChange) -> Iterator[wire.SocketMessage]:
    match change.entry:
        case ToolCall() as call:
            yield from _call(change, call)
        case Message() as message:
            yield from _said(message, change.text)
        case Plan(id=id, description=description, entries=steps):
            yield event("plan", entry=id, description=description, entries=[structs.asdict(each) for each in steps])
        case Notice(id=id, title=title, count=count) as line:
            if not isinstance(change.before, Notice) or (change.before.title, change.before.count) != (title, count):
                yield notice(line.severity, title, line.description, entry=id)
        case Attachment(id=id, speaker="agent" | "thought", block=ResourceLink() as link):
            yield event("resource_link", uri=link.uri, name=link.title or link.name, mime=link.mime_type, entry=id)
        case Attachment():
            return
        case other:
            assert_never(other)


def _said(message: Message, text: str) -> Iterator[wire.SocketMessage]:
    match message.speaker:
        case "user":
            yield event("prompt", content=prompt_text(message), entry=message.id)
        case "thought":
            yield event("thought", content=text, entry=message.id)
        case "agent" if text:
            yield wire.SocketMessage("delta", {"content": text})


def _call(change: EntryChange, call: ToolCall) -> Iterator[wire.SocketMessage]:
    told = {"call_id": change.call_id, "title": visible_line(call.best_title), "arguments": arguments(call.raw_input)}
    before = change.before
    if not isinstance(before, ToolCall):
        yield event("tool_start", **told, tool=tool(call), kind=call.kind, entry=call.id)
        return
    is_renamed = (call.best_title, call.raw_input) != (before.best_title, before.raw_input)
    if is_renamed or (call.status != before.status and not change.has_ended):
        yield event("tool_update", **told, status=call.status)


def _result(call: ToolCall, id: str) -> Iterator[wire.SocketMessage]:
    output = raw.output_of(call)
    decision = {"decision": call.decision} if call.decision else {}
    result = shortened(raw.without_exit_line(output), MAX_RESULT_CHARS)
    yield event("tool_done", call_id=id, result=result, status=call.status, **decision)
    if call.kind == "execute" and call.status in ("completed", "failed"):
        yield _command_result(call, id, output)


def _command_result(call: ToolCall, id: str, output: str) -> wire.SocketMessage:
    """Return the result of a command. Some agents report two streams in `rawOutput`; otherwise all output is stdout."""
    streams = call.raw_output if isinstance(call.raw_output, dict) else {}
    stdout, stderr = streams.get("stdout"), streams.get("stderr")
    found = {
        "stdout": stdout if isinstance(stdout, str) else raw.without_exit_line(output),
        "stderr": stderr if isinstance(stderr, str) else "",
    }
    told = {name: shortened(text, MAX_RESULT_CHARS) for name, text in found.items()}
    return wire.SocketMessage("sandbox_result", {**told, "exit_code": raw.exit_code(call, output), "call_id": id})
