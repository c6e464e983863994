"""The last messages of a conversation: for a client that comes back, and for an agent that has forgotten them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..conversation.model import Conversation, Message
from ..rendering.output import shortened

MOST = 20
"""Messages."""
LONGEST = 20_000
"""Characters of one message; of a longer one the two ends are kept."""

_HEAD = "<earlier_messages>\nThis is what was said before in this conversation, which you no longer have:\n\n"
_TAIL = "\n</earlier_messages>"
_CONTEXT = re.compile(rf"\A{re.escape(_HEAD)}.*{re.escape(_TAIL)}\n*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """One message; `role` is user or assistant."""

    role: str
    content: str


def recent(talk: Conversation) -> tuple[Line, ...]:
    """The last messages of both, oldest first."""
    return tuple(Line(_role(each), shortened(spoken(each), LONGEST)) for each in messages(talk))


def messages(talk: Conversation) -> list[Message]:
    """The entries of the last messages."""
    found: list[Message] = []
    for entry in reversed(talk.entries):
        if isinstance(entry, Message) and entry.speaker != "thought":
            found.append(entry)
        if len(found) == MOST:
            break
    return found[::-1]


def spoken(entry: Message) -> str:
    """What was said, without the context that this server put before it."""
    text = str(entry.text)
    return _CONTEXT.sub("", text) if entry.speaker == "user" and text.startswith(_HEAD) else text


def as_context(lines: Sequence[Line]) -> str:
    """The block of text that goes before the next prompt."""
    told = "\n\n".join(f"{each.role}: {each.content}".replace(_TAIL.strip(), "") for each in lines)
    return _HEAD + told + _TAIL


def _role(entry: Message) -> str:
    return "user" if entry.speaker == "user" else "assistant"
