"""Compose what we send, always in the specification's own form."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .messages import (
    AudioBlock,
    Block,
    EmbeddedResource,
    ImageBlock,
    Json,
    PermissionOption,
    ResourceLink,
    TextBlock,
    UnknownBlock,
)


def compose_initialize(version: str, offers: Collection[str] = ()) -> Json:
    """The parameters of `initialize`, with the optional capabilities that are served (spec: initialization).

    `offers` may hold `fs`, `terminal`, `elicitation`, and `auth` (the user is shown the agent's command to sign in).
    """
    optional: Json = {"elicitation": {"form": {}, "url": {}}, "auth": {"terminal": True}}
    return {
        "protocolVersion": 1,
        "clientInfo": {"name": "copilot-kernel", "title": "Copilot Kernel", "version": version},
        "clientCapabilities": {
            "fs": {"readTextFile": "fs" in offers, "writeTextFile": "fs" in offers},
            "terminal": "terminal" in offers,
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
            **{name: value for name, value in optional.items() if name in offers},
        },
    }


def compose_answer(option: PermissionOption | None) -> Json:
    """The result of `session/request_permission`; None is `cancelled`."""
    if option is None or option.id is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option.id}}


def compose_block(block: Block) -> Json:
    """A content block (spec: content) without its empty members."""
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ImageBlock(data, mime_type, uri):
            return {"type": "image", "data": data, "mimeType": mime_type, **_given(uri=uri)}
        case AudioBlock(data, mime_type):
            return {"type": "audio", "data": data, "mimeType": mime_type}
        case ResourceLink(uri, name, title, description, mime_type, size):
            optional = _given(title=title, description=description, mimeType=mime_type, size=size)
            return {"type": "resource_link", "uri": uri, "name": name or uri, **optional}  # `name` is required
        case EmbeddedResource(uri, text, blob, mime_type):
            content = {"text": text or ""} if blob is None else {"blob": blob}  # one of them is required
            return {"type": "resource", "resource": {"uri": uri, **content, **_given(mimeType=mime_type)}}
        case UnknownBlock(raw):
            return raw if isinstance(raw, dict) else {"type": "text", "text": str(raw)}


def _given(**members: Any) -> Json:
    return {name: value for name, value in members.items() if value not in ("", None)}
