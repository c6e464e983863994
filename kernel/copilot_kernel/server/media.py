"""Files that agents produced: kept in a folder that only this user can read, found by names that nobody can guess.

Nothing of what an agent says becomes part of a path, and no file is served as a page.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import os
import re
import secrets
import shutil
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from ..acp.messages import Audio, Block, Image, Resource
from ..rendering.attachment import file_name
from ..rendering.plain import whole
from .wire import File

LARGEST = 20 * 2**20
"""Bytes of one file."""
MOST = 256 * 2**20
"""Bytes of all files; the oldest go."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})
SOUNDS = frozenset(f"audio/{name}" for name in ("wav", "x-wav", "mpeg", "mp3", "ogg", "webm", "flac", "aac", "mp4"))
_MIME = re.compile(r"[a-z0-9][\w.+-]{0,60}/[a-z0-9][\w.+-]{0,100}")
_BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Kept:
    """A file: where it is, what it is, what it is called, and its size in bytes."""

    path: Path
    mime: str
    name: str
    size: int

    @property
    def inline(self) -> bool:
        """A browser may show it; everything else it may only save."""
        return self.mime in PICTURES | SOUNDS

    @property
    def served_as(self) -> str:
        """What is neither a picture nor a sound is text or mere bytes."""
        if self.inline:
            return self.mime
        return "text/plain; charset=utf-8" if self.mime.startswith("text/") else _BYTES


class MediaStore:
    """`url` is where `find` is served, with a slash at its end. `close` removes everything."""

    def __init__(self, url: str, most: int = MOST) -> None:
        self._url, self._most = url, most
        self._folder: Path | None = None
        self._files: OrderedDict[str, Kept] = OrderedDict()

    def keep(self, block: Block) -> File | None:
        """Save what `block` holds. None if that is nothing, too much, or no base64."""
        found = _content(block)
        if found is None or len(found) > LARGEST:
            return None
        mime, uri = _mime(block), getattr(block, "uri", "")
        key = secrets.token_urlsafe(16) + (mimetypes.guess_extension(mime) or "")
        name = file_name(uri, mime)
        self._files[key] = Kept(self._write(key, found), mime, name, len(found))
        self._forget_oldest()
        return File(self._url + key, mime, name)

    def find(self, key: str) -> Kept | None:
        """The file of that name, if it is still here."""
        return self._files.get(key)

    def close(self) -> None:
        """Remove the folder."""
        self._files.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _write(self, key: str, content: bytes) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="copilot-media-"))
        path = self._folder / key
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        return path

    def _forget_oldest(self) -> None:
        while sum(each.size for each in self._files.values()) > self._most:
            _, oldest = self._files.popitem(last=False)
            oldest.path.unlink(missing_ok=True)


def _content(block: Block) -> bytes | None:
    data = block.data if isinstance(block, Image | Audio) else block.blob if isinstance(block, Resource) else None
    if data is None:
        text = block.text if isinstance(block, Resource) else None
        return whole(text).encode() if text else None
    compact = "".join(data.split()) if len(data) <= 2 * LARGEST else ""
    try:
        return base64.b64decode(compact, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _mime(block: Block) -> str:
    said = getattr(block, "mime_type", "").partition(";")[0].strip().lower()
    is_text = isinstance(block, Resource) and block.blob is None
    return said if _MIME.fullmatch(said) else "text/plain" if is_text else _BYTES
