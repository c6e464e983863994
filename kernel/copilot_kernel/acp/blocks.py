"""Content as it comes: blocks of messages, and what tool calls carry (spec: content, tool-calls)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .aliases import BLOCK_TYPES, spelled, spelled_resource
from .lenient import ident, members, text, whole, words
from .messages import (
    Audio,
    Block,
    Diff,
    Image,
    Json,
    Resource,
    ResourceLink,
    Terminal,
    Text,
    ToolContent,
    UnknownBlock,
)


def parse_block(raw: Any) -> Block:
    """A content block; a bare text is one too. What cannot be read is an UnknownBlock."""
    if isinstance(raw, str):
        return Text(words(raw))
    kind = members(raw).get("type")
    reader = _BLOCKS.get(BLOCK_TYPES.get(kind, kind)) if isinstance(kind, str) else None
    return (reader(raw) if reader else None) or UnknownBlock(raw)


def parse_content(raw: Any) -> ToolContent:
    """One item of a tool call's `content`; bare blocks occur in the specification's own examples."""
    reader = _CONTENT.get(kind) if isinstance(kind := members(raw).get("type"), str) else None
    return (reader(raw) if reader else None) or parse_block(raw)


def parse_contents(raw: Any) -> tuple[ToolContent, ...] | None:
    """A tool call's `content`, replacing what was there; None: it says nothing. A single item is a list of one."""
    if raw is None:
        return None
    return tuple(parse_content(item) for item in (raw if isinstance(raw, list) else [raw]))


def _text(raw: Json) -> Block | None:
    said = text(raw.get("text"))
    return None if said is None else Text(said)


def _image(raw: Json) -> Block | None:
    data = text(raw.get("data"))
    return None if data is None else Image(data, words(raw.get("mimeType")), words(raw.get("uri")))


def _audio(raw: Json) -> Block | None:
    data = text(raw.get("data"))
    return None if data is None else Audio(data, words(raw.get("mimeType")))


def _link(raw: Json) -> Block | None:
    uri = text(raw.get("uri"))
    if uri is None:
        return None
    name, title, description, mime = (words(raw.get(key)) for key in ("name", "title", "description", "mimeType"))
    return ResourceLink(uri, name, title, description, mime, whole(raw.get("size")))


def _resource(raw: Json) -> Block | None:
    inner = spelled_resource(raw)
    uri = text(inner.get("uri"))
    if uri is None:
        return None
    return Resource(uri, text(inner.get("text")), text(inner.get("blob")), words(inner.get("mimeType")))


def _content(raw: Json) -> ToolContent | None:
    return parse_block(raw["content"]) if "content" in raw else None


def _diff(raw: Json) -> ToolContent | None:
    raw = spelled("diff", raw)
    path, old, new = (text(raw.get(name)) for name in ("path", "oldText", "newText"))
    if path is None or (old is None and new is None):
        return None
    return Diff(path, old, new or "")


def _terminal(raw: Json) -> ToolContent | None:
    terminal, output = ident(raw.get("terminalId")), _joined(raw.get("content"))
    return Terminal(terminal, output) if terminal or output else None


def _joined(raw: Any) -> str:
    """The text of a block or of several, whose `type` may be missing."""
    blocks = raw if isinstance(raw, list) else [raw]
    return "\n".join(filter(None, (words(members(each).get("text")) or words(each) for each in blocks)))


_BLOCKS: dict[str, Callable[[Json], Block | None]] = {
    "text": _text,
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _resource,
}
_CONTENT: dict[str, Callable[[Json], ToolContent | None]] = {"content": _content, "diff": _diff, "terminal": _terminal}
