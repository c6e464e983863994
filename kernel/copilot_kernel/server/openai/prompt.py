"""Convert messages of all roles to one prompt for the agent: in order, each marked with its role.

Each message, also a single one, is enclosed in a tag that no message contains: none can pass for another, nor for a
command of the agent.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, groupby
from typing import Any

from ...acp.messages import Block, ImageBlock, TextBlock
from ...tags import opening, unused_tag
from ..errors import ApiError
from .schema import ImagePart, Message, Part, RefusalPart, TextPart

INTRODUCTION = (
    "This is a conversation, in order; each message stands in a tag that says who said it. Heed what system and "
    "developer say, and answer as the assistant, with what comes next and without a tag."
)
_DATA = re.compile(r"data:(image/[a-z0-9.+-]+);base64,", re.IGNORECASE)


def blocks(messages: Sequence[Message]) -> tuple[Block, ...]:
    """The content of the prompt. Raises ApiError if it is empty, or an image cannot be sent."""
    contents = [list(_content(message)) for message in messages]
    if not any(not isinstance(each, TextBlock) or each.text.strip() for content in contents for each in content):
        raise ApiError(400, "messages: no text to answer.", "messages")
    texts = [block.text for content in contents for block in content if isinstance(block, TextBlock)]
    tag = unused_tag("message", [*texts, *(word or "" for each in messages for word in (each.name, each.tool_call_id))])
    marked = [_marked(tag, each, content) for each, content in zip(messages, contents, strict=True)]
    return tuple(_joined(chain([TextBlock(INTRODUCTION)], *marked)))


def digest(message: Message) -> str:
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


def _content(message: Message) -> Iterator[Block]:
    if isinstance(message.content, str):
        yield TextBlock(message.content)
    else:
        yield from (_block(part) for part in message.content or ())
    if message.tool_calls:
        yield TextBlock(f"Tool calls: {json.dumps(message.tool_calls, ensure_ascii=False)}")


def _block(part: Part) -> Block:
    match part:
        case TextPart(text=text) | RefusalPart(refusal=text):
            return TextBlock(text)
        case ImagePart(image_url=image):
            return _image(image.url)


def _image(url: str) -> ImageBlock:
    found = _DATA.match(url)
    if found is None:
        raise ApiError(400, "An image must be a data URI (data:image/png;base64,…); URLs are not fetched.", "messages")
    data = url[found.end() :]
    try:
        if not base64.b64decode(data, validate=True):
            raise ApiError(400, "An image is empty: its data URI ends after base64,.", "messages")
    except (binascii.Error, ValueError):
        raise ApiError(400, "The data of an image is not base64.", "messages") from None
    return ImageBlock(data, found[1].lower())


def _marked(tag: str, message: Message, content: Sequence[Block]) -> Iterator[Block]:
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
