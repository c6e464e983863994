"""What is new of a conversation's entries, as messages of the chat protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ..acp.messages import Audio, Block, Diff, Image, Resource, ResourceLink, Terminal, Text
from ..conversation.model import FINAL, Attachment, Entry, Message, Notice, Plan, ToolCall
from ..frontend.clean import clean
from ..rendering import raw
from ..rendering.output import shortened
from ..rendering.plain import visible_line
from ..rendering.tool_call import output_of
from .history import spoken
from .wire import CARD, Cards, Delta, Event, File, Media, SandboxResult
from .wire import Message as Told

Keep = Callable[[Block], File | None]
"""Saves what a block holds, and says where; None if it holds no file."""

LONGEST_RESULT = 100_000
LONGEST_ARGUMENTS = 500_000
"""Characters; of longer ones the two ends are told."""


class Names:
    """One name for each tool call of a conversation: agents use an id again, also for another call."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()
        self._asked: set[str] = set()

    def of(self, call: ToolCall) -> str:
        """The agent's id, if it is the first call with it."""
        if call.id not in self._names:
            name = call.call_id if call.call_id and call.call_id not in self._taken else f"{call.call_id}~{call.id}"
            self._taken.add(name)
            self._names[call.id] = name
        return self._names[call.id]

    def of_question(self, call: ToolCall, key: int) -> str:
        """The call's, for its first question: a late answer to that one must not answer the next."""
        name = self.of(call)
        if name in self._asked:
            name = f"{name}~question{key}"
        self._asked.add(name)
        return name


class EntryEncoder:
    """What was told of each entry. `kept` holds the files and cards of each, to be told again to who comes later."""

    def __init__(self, names: Names, keep: Keep) -> None:
        self._names, self._keep = names, keep
        self._read: dict[int, int] = {}
        self._calls: dict[int, tuple[str, str, str]] = {}
        self._notices: dict[int, tuple[str, int]] = {}
        self._talked: int | None = None
        """The turn in which the agent has said something."""
        self.kept: dict[int, tuple[Media | Cards, ...]] = {}

    def tell(self, entry: Entry) -> Iterator[Told]:
        """What is new of `entry`."""
        match entry:
            case Message():
                yield from self._message(entry)
            case ToolCall():
                yield from self._call(entry)
            case Plan():
                yield Event("plan", {"entry": entry.id, "description": entry.description, "entries": _steps(entry)})
            case Notice():
                yield from self._notice(entry)
            case Attachment() if entry.speaker != "user":
                yield from self._attachment(entry)

    def again(self, entry: Entry) -> Iterator[Told]:
        """For who comes in the middle of a turn: what was told of `entry` so far, but not its text."""
        if isinstance(entry, ToolCall):
            yield self._start(entry)
            if entry.status in FINAL:
                yield from self._end(entry)
        elif isinstance(entry, Plan):
            yield from self.tell(entry)
        yield from self.kept.get(entry.id, ())

    def _message(self, entry: Message) -> Iterator[Told]:
        start = self._read.get(entry.id, 0)
        self._read[entry.id] = entry.text.count
        text = "".join(entry.text.parts(start))
        if entry.speaker == "user":
            yield Event("prompt", {"content": spoken(entry), "entry": entry.id})
        elif entry.speaker == "thought":
            yield Event("thought", {"content": text, "entry": entry.id})
        elif text:
            apart = "\n\n" if not start and self._talked == entry.turn else ""
            self._talked = entry.turn
            yield Delta(apart + text)

    def _notice(self, entry: Notice) -> Iterator[Told]:
        if self._notices.get(entry.id) != (entry.title, entry.count):
            self._notices[entry.id] = (entry.title, entry.count)
            said = {"severity": entry.severity, "title": entry.title, "description": entry.description}
            yield Event("notice", {**said, "entry": entry.id})

    # -- tool calls -------------------------------------------------------------------------------------------------

    def _call(self, call: ToolCall) -> Iterator[Told]:
        now, before = (visible_line(call.best_title), arguments(call), call.status), self._calls.get(call.id)
        self._calls[call.id] = now
        if before is None:
            yield self._start(call)
        elif now[:2] != before[:2] or (now != before and call.status not in FINAL):
            names = {"title": now[0], "arguments": now[1], "status": call.status}
            yield Event("tool_update", {"call_id": self._names.of(call), **names})
        if call.status in FINAL and (before is None or before[2] != call.status):
            yield from self._end(call)
            yield from self._files(call.id, [*call.content, *raw.attachments(call)])

    def _start(self, call: ToolCall) -> Event:
        said = {"tool": tool(call), "call_id": self._names.of(call), "arguments": arguments(call)}
        return Event(
            "tool_start", {**said, "title": visible_line(call.best_title), "kind": call.kind, "entry": call.id}
        )

    def _end(self, call: ToolCall) -> Iterator[Told]:
        name, output = self._names.of(call), output_of(call)
        decided = {"decision": call.decision} if call.decision else {}
        result = shortened(raw.without_exit_line(output), LONGEST_RESULT)
        yield Event("tool_done", {"call_id": name, "result": result, "status": call.status, **decided})
        if call.kind == "execute" and call.status in ("completed", "failed"):
            yield _ended(call, name, output)

    # -- files ------------------------------------------------------------------------------------------------------

    def _attachment(self, entry: Attachment) -> Iterator[Told]:
        if isinstance(entry.block, ResourceLink):
            link = entry.block
            said = {"uri": link.uri, "name": link.title or link.name, "mime": link.mime_type}
            yield Event("resource_link", {**said, "entry": entry.id})
        else:
            yield from self._files(entry.id, [entry.block])

    def _files(self, entry: int, blocks: list[Any]) -> Iterator[Told]:
        cards = tuple(content for block in blocks if (content := card(block)) is not None)
        left = [each for each in blocks if card(each) is None and not isinstance(each, Text | Diff | Terminal)]
        files = tuple(file for block in left if (file := self._keep(block)) is not None)
        found = (*([Media(files, entry)] if files else ()), *([Cards(cards, entry)] if cards else ()))
        if found:
            self.kept[entry] = found
        yield from found


def tool(call: ToolCall) -> str:
    """What the tool is called: agents seldom tell its name, and always its kind."""
    return call.name or call.kind


def arguments(call: ToolCall) -> str:
    """The tool's input as JSON."""
    if call.raw_input is None:
        return "{}"
    return shortened(json.dumps(clean(call.raw_input), ensure_ascii=False), LONGEST_ARGUMENTS)


def card(block: Any) -> Any:
    """The content of an adaptive card; None if `block` is none, or no JSON object."""
    if not isinstance(block, Resource) or block.mime_type.partition(";")[0].strip().lower() != CARD:
        return None
    try:
        found = json.loads(block.text or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_file(block: Block) -> bool:
    """It holds data of its own, or a text that is a file."""
    return isinstance(block, Image | Audio | Resource) and card(block) is None


def _steps(plan: Plan) -> list[dict[str, str]]:
    return [{"content": each.content, "priority": each.priority, "status": each.status} for each in plan.entries]


def _ended(call: ToolCall, name: str, output: str) -> SandboxResult:
    """Agents that keep the two streams apart say so in `rawOutput`; of the others, all is stdout."""
    code = raw.exit_code(call, output)
    told = call.raw_output if isinstance(call.raw_output, dict) else {}
    both = [told.get(stream) for stream in ("stdout", "stderr")]
    texts = [each if isinstance(each, str) else "" for each in both]
    stdout = texts[0] if isinstance(both[0], str) else raw.without_exit_line(output)
    return SandboxResult(shortened(stdout, LONGEST_RESULT), shortened(texts[1], LONGEST_RESULT), code, name)
