"""Convert messages of all roles to one prompt for the agent: in order, each marked with its role.

Each message, also a single one, is enclosed in a tag that no message contains: none can pass for another, nor for a
command of the agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, groupby
from typing import Any

from ...acp.messages import Block, ImageBlock, TextBlock
from ...tags import opening, unused_tag
from ..errors import ApiError
from .schema import LEFT_OUT, ChatMessage, ImagePart, Part, RefusalPart, TextPart

INTRODUCTION = (
    "This is a conversation, in order; the tag around each message says who wrote it. Follow the system and developer "
    "messages, and write the assistant's next message, without a tag."
)


def blocks(messages: Sequence[ChatMessage], *, images: bool = True) -> tuple[Block, ...]:
    """The content of the prompt. Raises ApiError if it is empty.

    An agent that takes no images gets a mark for each.
    """
    contents = [list(_content(message, images)) for message in messages]
    if not any(not isinstance(each, TextBlock) or each.text.strip() for content in contents for each in content):
        raise ApiError(400, "messages: no text to answer.", "messages")
    texts = [block.text for content in contents for block in content if isinstance(block, TextBlock)]
    tag = unused_tag("message", [*texts, *(word or "" for each in messages for word in (each.name, each.tool_call_id))])
    marked = [_marked(tag, each, content) for each, content in zip(messages, contents, strict=True)]
    return tuple(_joined(chain([TextBlock(INTRODUCTION)], *marked)))


def digest(message: ChatMessage) -> str:
    """Equal for equal messages; white space around the content does not count: clients strip answers."""
    whole = [message.role, _normalised(message.content), message.name, message.tool_calls or None, message.tool_call_id]
    return sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _normalised(content: str | list[Part] | None) -> str | list[Any]:
    """Clients may send the same text as a string or as parts."""
    if isinstance(content, str):
        return content.strip()
    parts = content or []
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n".join(texts).strip() if len(texts) == len(parts) else [part.model_dump() for part in parts]


def _content(message: ChatMessage, images: bool) -> Iterator[Block]:
    if isinstance(message.content, str):
        yield TextBlock(message.content)
    else:
        parts = message.content or ()
        yield from (_block(p) if images or not isinstance(p, ImagePart) else TextBlock(LEFT_OUT) for p in parts)
    if message.tool_calls:
        yield TextBlock(f"Tool calls: {json.dumps(message.tool_calls, ensure_ascii=False)}")


def _block(part: Part) -> Block:
    match part:
        case TextPart(text=text) | RefusalPart(refusal=text):
            return TextBlock(text)
        case ImagePart(image_url=image):
            kind, _, data = image.url.partition(";")
            return ImageBlock(data.partition(",")[2], kind.partition(":")[2].lower())


def _marked(tag: str, message: ChatMessage, content: Sequence[Block]) -> Iterator[Block]:
    attributes = {"role": message.role, "name": message.name, "tool_call_id": message.tool_call_id}
    yield TextBlock(f"\n\n{opening(tag, attributes)}\n")
    for place, block in enumerate(content):
        if place and isinstance(block, TextBlock) and isinstance(content[place - 1], TextBlock):
            yield TextBlock("\n")
        yield block
    yield TextBlock(f"\n</{tag}>")


def _joined(parts: Iterable[Block]) -> Iterator[Block]:
    """Adjacent texts become one block."""
    for is_text, group in groupby(parts, lambda part: isinstance(part, TextBlock)):
        if is_text:
            yield TextBlock("".join(block.text for block in group if isinstance(block, TextBlock)))
        else:
            yield from group
