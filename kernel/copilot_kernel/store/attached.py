"""What the user sent along with a prompt, as content blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..acp.lenient import members, objects, text, whole, words
from ..acp.messages import Audio, Block, Image, Json, Resource, ResourceLink


def attachments(raw: Any, assets: Mapping[str, Json]) -> Iterator[Block]:
    """The `attachments` of a `user.message`; `assets` are the log's binary assets by id."""
    for each in objects(raw):
        yield _binary(each, assets) or _text(each) or _link(each)


def _binary(raw: Json, assets: Mapping[str, Json]) -> Block | None:
    asset = assets.get(words(raw.get("assetId")), {})
    data = words(raw.get("data")) or words(asset.get("data"))
    kind = words(raw.get("mimeType")) or words(asset.get("mimeType"))
    if not data:
        return None
    if kind.startswith("image/"):
        return Image(data, kind)
    return Audio(data, kind) if kind.startswith("audio/") else Resource(_place(raw), blob=data, mime_type=kind)


def _text(raw: Json) -> Block | None:
    """A selection; its lines count from 0."""
    said = text(raw.get("text"))
    if said is None:
        return None
    start, end = (whole(members(members(raw.get("selection")).get(name)).get("line")) for name in ("start", "end"))
    lines = "" if start is None or end is None else f"#L{start + 1}-L{end + 1}"
    return Resource(_place(raw) + lines, text=said)


def _link(raw: Json) -> Block:
    place = _place(raw)
    name = words(raw.get("displayName")) or words(raw.get("title")) or words(raw.get("name"))
    return ResourceLink(place, name or place or words(raw.get("type")), mime_type=words(raw.get("mimeType")))


def _place(raw: Json) -> str:
    return words(raw.get("path")) or words(raw.get("filePath")) or words(raw.get("url"))
