"""The line that agents send most, a chunk of text, straight from bytes to values.

Any other line, and one with any other member, is left to the tolerant parser, which reads this one just the same.
Without `gc`, since JSON has no cycles: the garbage collector need not visit each piece.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.json import Decoder

from .jsonrpc import Line, RpcNotification
from .messages import Chunk, Speaker, TextBlock

_SPEAKERS: dict[str, Speaker] = {
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}


class _Text(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    type: Literal["text"]
    text: str


class _Update(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    sessionUpdate: Literal["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
    content: _Text
    messageId: str = ""


class AddressedChunk(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The params of such a line."""

    sessionId: str
    update: _Update

    def chunk(self) -> Chunk:
        """The update that it is."""
        update = self.update
        return Chunk(_SPEAKERS[update.sessionUpdate], TextBlock(update.content.text), update.messageId or None)


class _Line(RpcNotification, frozen=True, forbid_unknown_fields=True, gc=False):
    method: Literal["session/update"]
    params: AddressedChunk
    jsonrpc: str = ""


_decode = Decoder(_Line).decode


def read_chunk(line: Line) -> RpcNotification | None:
    """The notification, whose params are an `AddressedChunk`; None for any other line."""
    if line.find(b"_chunk", 0, 200) < 0:
        return None
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        return None
