"""Files that agents produced: in memory, under names that cannot be guessed, and never served as a page."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from ...acp.messages import AudioBlock, Block, EmbeddedResource, ImageBlock
from ...rendering.attachment import IMAGES, SOUNDS, file_name
from ...rendering.plain import whole

CARD_TYPE = "application/vnd.microsoft.card.adaptive"
MAX_MEDIA_BYTES = 20 * 2**20
MAX_TOTAL_BYTES = 64 * 2**20
"""Limit of all files; the oldest are removed."""

_MIME_TYPE = re.compile(r"[a-z0-9][\w.+-]{0,60}/[a-z0-9][\w.+-]{0,100}")
_BINARY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """`name` is for people, `url` its address."""

    url: str
    mime: str
    name: str
    content: bytes

    @property
    def is_inline(self) -> bool:
        """A browser may show it; everything else it may only save."""
        return self.mime in IMAGES | SOUNDS

    @property
    def content_type(self) -> str:
        """Content type; what is neither an image nor audio is text or mere bytes."""
        if self.is_inline:
            return self.mime
        return "text/plain; charset=utf-8" if self.mime.startswith("text/") else _BINARY


class MediaStore:
    """`url` is where `find` is served, with a slash at its end."""

    def __init__(self, url: str, max_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._url, self._max_bytes = url, max_bytes
        self._files: OrderedDict[str, StoredFile] = OrderedDict()

    def save(self, block: Block) -> StoredFile | None:
        """Save the content of `block`. None if it is empty, too large, or not base64."""
        content = _content(block)
        if content is None or len(content) > MAX_MEDIA_BYTES:
            return None
        mime = _mime_type(block)
        key = secrets.token_urlsafe(16) + (mimetypes.guess_extension(mime) or "")
        name = file_name(getattr(block, "uri", ""), mime)
        file = self._files[key] = StoredFile(self._url + key, mime, name, content)
        while sum(len(each.content) for each in self._files.values()) > self._max_bytes:
            self._files.popitem(last=False)
        return file

    def find(self, key: str) -> StoredFile | None:
        """The file of that name, unless it was removed."""
        return self._files.get(key)


def _content(block: Block) -> bytes | None:
    data = (
        block.data
        if isinstance(block, ImageBlock | AudioBlock)
        else block.blob
        if isinstance(block, EmbeddedResource)
        else None
    )
    if data is None:
        text = block.text if isinstance(block, EmbeddedResource) else None
        return whole(text).encode() if text else None
    compact = "".join(data.split()) if len(data) <= 2 * MAX_MEDIA_BYTES else ""
    try:
        return base64.b64decode(compact, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _mime_type(block: Block) -> str:
    claimed = getattr(block, "mime_type", "").partition(";")[0].strip().lower()
    is_text = isinstance(block, EmbeddedResource) and block.blob is None
    return claimed if _MIME_TYPE.fullmatch(claimed) else "text/plain" if is_text else _BINARY


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
    """Return True if a block holds data of its own, or a text that is a file."""
    return isinstance(block, ImageBlock | AudioBlock | EmbeddedResource) and card(block) is None
