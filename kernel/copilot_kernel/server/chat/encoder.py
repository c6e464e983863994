"""What is new of a conversation's entries, as messages of the chat protocol; and its last messages, for a client that
comes back, and for an agent that has forgotten them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from msgspec import structs

from ...acp.messages import (
    AudioBlock,
    Block,
    Diff,
    EmbeddedResource,
    ImageBlock,
    ResourceLink,
    TerminalContent,
    TextBlock,
)
from ...conversation.model import FINAL, Attachment, Conversation, Entry, Message, Notice, Plan, ToolCall
from ...frontend.cell import clean
from ...rendering import raw
from ...rendering.output import shortened
from ...rendering.plain import visible_line
from ...rendering.tool_call import output_of
from .wire import CARD_TYPE, Cards, Delta, Event, File, Media, SandboxResult
from .wire import Message as WireMessage

SaveFile = Callable[[Block], File | None]
"""Saves the content of a block and returns its address; None if it holds no file."""

MAX_RESULT_CHARS = 100_000
MAX_ARGUMENTS_CHARS = 500_000
MAX_HISTORY_CHARS = 20_000
"""Of longer texts, both ends are kept."""
MAX_HISTORY_MESSAGES = 20

_HEAD = "<earlier_messages>\nThis is what was said before in this conversation, which you no longer have:\n\n"
_TAIL = "\n</earlier_messages>"
_CONTEXT = re.compile(rf"\A{re.escape(_HEAD)}.*{re.escape(_TAIL)}\n*", re.DOTALL)


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

    def of_question(self, call: ToolCall, key: int) -> str:
        """The call's id for its first question only: a late answer to that one must not answer the next."""
        id = self.of(call)
        if id in self._questions:
            id = f"{id}~question{key}"
        self._questions.add(id)
        return id


class EntryEncoder:
    """Keeps what was sent of each entry. `files` holds the files and cards of each, for subscribers that join later."""

    def __init__(self, call_ids: CallIds, save_file: SaveFile) -> None:
        self._call_ids, self._save_file = call_ids, save_file
        self._read: dict[int, int] = {}
        self._calls: dict[int, tuple[str, str, str]] = {}
        self._notices: dict[int, tuple[str, int]] = {}
        # The turn in which the agent has sent text.
        self._answered: int | None = None
        self.files: dict[int, tuple[Media | Cards, ...]] = {}

    def encode(self, entry: Entry) -> Iterator[WireMessage]:
        """What is new of `entry`."""
        match entry:
            case Message():
                yield from self._message(entry)
            case ToolCall():
                yield from self._call(entry)
            case Plan():
                steps = [structs.asdict(each) for each in entry.entries]
                yield Event("plan", {"entry": entry.id, "description": entry.description, "entries": steps})
            case Notice():
                yield from self._notice(entry)
            case Attachment(speaker="user"):
                return
            case Attachment():
                yield from self._attachment(entry)
            case _:
                assert_never(entry)

    def encode_again(self, entry: Entry) -> Iterator[WireMessage]:
        """What was sent of `entry` so far, but not its text, for a subscriber that joins during a turn."""
        if isinstance(entry, ToolCall):
            yield self._start(entry)
            if entry.status in FINAL:
                yield from self._end(entry)
        elif isinstance(entry, Plan):
            yield from self.encode(entry)
        yield from self.files.get(entry.id, ())

    def _message(self, entry: Message) -> Iterator[WireMessage]:
        start = self._read.get(entry.id, 0)
        self._read[entry.id] = len(entry.text)
        text = "".join(entry.text.parts(start))
        if entry.speaker == "user":
            yield Event("prompt", {"content": prompt_text(entry), "entry": entry.id})
        elif entry.speaker == "thought":
            yield Event("thought", {"content": text, "entry": entry.id})
        elif text:
            gap = "\n\n" if not start and self._answered == entry.turn else ""
            self._answered = entry.turn
            yield Delta(gap + text)

    def _notice(self, entry: Notice) -> Iterator[WireMessage]:
        if self._notices.get(entry.id) != (entry.title, entry.count):
            self._notices[entry.id] = (entry.title, entry.count)
            fields = {"severity": entry.severity, "title": entry.title, "description": entry.description}
            yield Event("notice", {**fields, "entry": entry.id})

    # -- tool calls -------------------------------------------------------------------------------------------------

    def _call(self, call: ToolCall) -> Iterator[WireMessage]:
        now, before = (visible_line(call.best_title), arguments(call), call.status), self._calls.get(call.id)
        self._calls[call.id] = now
        if before is None:
            yield self._start(call)
        elif now[:2] != before[:2] or (now != before and call.status not in FINAL):
            fields = {"title": now[0], "arguments": now[1], "status": call.status}
            yield Event("tool_update", {"call_id": self._call_ids.of(call), **fields})
        if call.status in FINAL and (before is None or before[2] != call.status):
            yield from self._end(call)
            yield from self._files(call.id, [*call.content, *raw.attachments(call)])

    def _start(self, call: ToolCall) -> Event:
        fields = {
            "tool": tool(call),
            "call_id": self._call_ids.of(call),
            "arguments": arguments(call),
            "title": visible_line(call.best_title),
            "kind": call.kind,
            "entry": call.id,
        }
        return Event("tool_start", fields)

    def _end(self, call: ToolCall) -> Iterator[WireMessage]:
        id, output = self._call_ids.of(call), output_of(call)
        decision = {"decision": call.decision} if call.decision else {}
        result = shortened(raw.without_exit_line(output), MAX_RESULT_CHARS)
        yield Event("tool_done", {"call_id": id, "result": result, "status": call.status, **decision})
        if call.kind == "execute" and call.status in ("completed", "failed"):
            yield _command_result(call, id, output)

    # -- files ------------------------------------------------------------------------------------------------------

    def _attachment(self, entry: Attachment) -> Iterator[WireMessage]:
        if isinstance(entry.block, ResourceLink):
            link = entry.block
            fields = {"uri": link.uri, "name": link.title or link.name, "mime": link.mime_type, "entry": entry.id}
            yield Event("resource_link", fields)
        else:
            yield from self._files(entry.id, [entry.block])

    def _files(self, entry: int, blocks: list[Any]) -> Iterator[WireMessage]:
        cards, files = [], []
        for block in blocks:
            content = card(block)
            if content is not None:
                cards.append({"contentType": CARD_TYPE, "content": content})
            elif (
                not isinstance(block, TextBlock | Diff | TerminalContent)
                and (file := self._save_file(block)) is not None
            ):
                files.append(file)
        found = (*([Media(tuple(files), entry)] if files else ()), *([Cards(tuple(cards), entry)] if cards else ()))
        if found:
            self.files[entry] = found
        yield from found


def tool(call: ToolCall) -> str:
    """The tool's name: agents rarely report it, but always its kind."""
    return call.name or call.kind


def arguments(call: ToolCall) -> str:
    """The tool's input as JSON."""
    if call.raw_input is None:
        return "{}"
    return shortened(json.dumps(clean(call.raw_input), ensure_ascii=False), MAX_ARGUMENTS_CHARS)


def card(block: Any) -> Any:
    """The content of an adaptive card; None if `block` is not one, or not a JSON object."""
    if not isinstance(block, EmbeddedResource) or block.mime_type.partition(";")[0].strip().lower() != CARD_TYPE:
        return None
    try:
        found = json.loads(block.text or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_file(block: Block) -> bool:
    """Whether it holds data of its own, or a text that is a file."""
    return isinstance(block, ImageBlock | AudioBlock | EmbeddedResource) and card(block) is None


def _command_result(call: ToolCall, id: str, output: str) -> SandboxResult:
    """Some agents report two streams in `rawOutput`; otherwise all output counts as stdout."""
    streams = call.raw_output if isinstance(call.raw_output, dict) else {}
    stdout, stderr = streams.get("stdout"), streams.get("stderr")
    stdout = stdout if isinstance(stdout, str) else raw.without_exit_line(output)
    stderr = stderr if isinstance(stderr, str) else ""
    code = raw.exit_code(call, output)
    return SandboxResult(shortened(stdout, MAX_RESULT_CHARS), shortened(stderr, MAX_RESULT_CHARS), code, id)


# -- the last messages ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One message; `role` is user or assistant."""

    role: str
    content: str


def last_lines(conversation: Conversation) -> tuple[Line, ...]:
    """The last messages of both sides, oldest first."""
    return tuple(
        Line("user" if each.speaker == "user" else "assistant", shortened(prompt_text(each), MAX_HISTORY_CHARS))
        for each in last_messages(conversation)
    )


def last_messages(conversation: Conversation) -> list[Message]:
    """The entries of the last messages, oldest first."""
    found: list[Message] = []
    for entry in reversed(conversation.entries):
        if isinstance(entry, Message) and entry.speaker != "thought":
            found.append(entry)
        if len(found) == MAX_HISTORY_MESSAGES:
            break
    return found[::-1]


def prompt_text(entry: Message) -> str:
    """The text of a message, without the context that this server put before it."""
    text = str(entry.text)
    return _CONTEXT.sub("", text) if entry.speaker == "user" and text.startswith(_HEAD) else text


def as_context(lines: Sequence[Line]) -> str:
    """The block of text that goes before the next prompt."""
    text = "\n\n".join(f"{each.role}: {each.content}".replace(_TAIL.strip(), "") for each in lines)
    return _HEAD + text + _TAIL
