"""The last messages of a conversation, for a client that comes back, and for an agent that has forgotten them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ...conversation.model import Conversation, Message
from ...rendering.output import shortened

MAX_HISTORY_CHARS = 20_000
"""Limit of a text; of longer ones, both ends are kept."""
MAX_HISTORY_MESSAGES = 20

_HEAD = "<earlier_messages>\nThis is what was said before in this conversation, which you no longer have:\n\n"
_TAIL = "\n</earlier_messages>"
_CONTEXT = re.compile(rf"\A{re.escape(_HEAD)}.*{re.escape(_TAIL)}\n*", re.DOTALL)


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
    newest_first = reversed(conversation.entries)
    said = (each for each in newest_first if isinstance(each, Message) and each.speaker != "thought")
    return [*islice(said, MAX_HISTORY_MESSAGES)][::-1]


def prompt_text(entry: Message) -> str:
    """The text of a message, without the context that this server put before it."""
    text = str(entry.text)
    return _CONTEXT.sub("", text) if entry.speaker == "user" and text.startswith(_HEAD) else text


def as_context(lines: Sequence[Line]) -> str:
    """The block of text that goes before the next prompt."""
    text = "\n\n".join(f"{each.role}: {each.content}".replace(_TAIL.strip(), "") for each in lines)
    return _HEAD + text + _TAIL
