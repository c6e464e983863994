"""What a file is: by its first bytes, and where those say nothing by its name."""

from __future__ import annotations

import mimetypes
from pathlib import PurePath

IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
SOUNDS = {
    ".wav": "audio/wav",
    ".mp3": "audio/mp3",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".aac": "audio/aac",
}
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mp3"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
HEAD = 4096
"""So many bytes are enough to tell."""


def media_type(head: bytes, name: str) -> str:
    """The MIME type of an image or a sound, or nothing. A name counts only where the bytes do not contradict it."""
    found = _by_bytes(head)
    if found or not head:
        return found
    suffix = PurePath(name).suffix.lower()
    if suffix == ".svg":
        return IMAGES[suffix] if b"<svg" in head else ""
    return SOUNDS[suffix] if suffix == ".aac" and not is_text(head) else ""


def is_text(data: bytes) -> bool:
    """UTF-8 without a zero byte; the last character may be cut in two."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start >= len(data) - 3
    return True


def named_type(name: str, default: str) -> str:
    """The MIME type that a name alone tells."""
    return mimetypes.guess_type(name)[0] or default


def _by_bytes(head: bytes) -> str:
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            return kind
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], "")
    return _by_frame(head)


def _by_frame(head: bytes) -> str:
    """An MPEG frame without a tag before it: eleven ones, then version and layer, where 0 means AAC (ADTS)."""
    if len(head) < 3 or head[0] != 0xFF:
        return ""
    layer = head[1] >> 1 & 3
    if head[1] & 0xF0 == 0xF0 and layer == 0:
        return "audio/aac"
    is_frame = head[1] & 0xE0 == 0xE0 and head[1] >> 3 & 3 != 1 and head[2] >> 4 not in (0, 15)
    return "audio/mp3" if is_frame and layer == 1 else ""
