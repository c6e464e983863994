"""Files that go with a prompt: attached ones as content, mentioned ones (`@path`) as links (spec: content).

What the agent cannot take is refused here, with the capability that it lacks. A file of the project is a link, since
the agent can read it itself; a file outside goes with the prompt.
"""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..acp.messages import AgentInfo, AudioBlock, Block, EmbeddedResource, ImageBlock, ResourceLink, TextBlock
from ..environment import environment_of
from ..errors import UsageError
from ..tags import tagged

NEITHER = "{} is neither a file nor a folder"
MAX_BINARY_BYTES = 10 * 1024 * 1024
MAX_ATTACHED_BYTES = 1024 * 1024
MAX_MENTIONS = 100
# So many bytes of a file are enough to recognize its type.
HEAD_BYTES = 4096

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_MENTION = re.compile(r'(?<![^\s(\[{<,;:"\'])@(?:"([^"\n]+)"|([^\s"@]+))')
# May follow a mention, and does not belong to it.
_PUNCTUATION = ".,;:!?)]}>'\"…"
_CAPABILITIES: dict[type[Block], str] = {ImageBlock: "image", AudioBlock: "audio", EmbeddedResource: "embeddedContext"}
_PLURALS = {"image": "images", "audio": "sounds", "embeddedContext": "embedded files"}


def prepare(blocks: Sequence[Block], info: AgentInfo) -> tuple[Block, ...]:
    """`blocks` as this agent takes them; it may be another one than when they were attached. Raises UsageError."""
    prepared = tuple(block if _takes_resources(info) else _without_resource(block) for block in blocks)
    for block in prepared:
        if capability := _CAPABILITIES.get(type(block)):
            _require(capability, info, "what was attached")
    return prepared


def read(path: str, info: AgentInfo, cwd: str) -> Block:
    """The file `path` (relative to `cwd`, or with `~`) as content for this agent. Raises UsageError."""
    file = _absolute(path, cwd)
    try:
        status = file.stat()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {_why(error)}", "Check the path; quote names with spaces.") from error
    if stat.S_ISDIR(status.st_mode):
        return _link(file, cwd)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(NEITHER.format(path), "Only those can be attached.")
    try:
        return _content(path, file, info, cwd)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {_why(error)}", "Check the file's permissions.") from error


def mentions(text: str, cwd: str) -> list[Block]:
    """A link for each existing file or folder that `text` mentions as `@path` or `@"path"`, once, in order.

    Mentions in code do not count.
    """
    found: dict[Path, None] = {}
    for match in _MENTION.finditer(without_code(text)):
        file = _existing(match[1] or match[2], cwd)
        if file is not None and len(found) < MAX_MENTIONS:
            found[file] = None
    return [_link(file, cwd) for file in found]


def without_code(text: str) -> str:
    """Markdown without its code, in which nothing is a mention."""
    return _CODE.sub(" ", _FENCED.sub(" ", text))


def _existing(path: str, cwd: str) -> Path | None:
    """`path` as it stands, or without the punctuation at its end."""
    for candidate in (path, path.rstrip(_PUNCTUATION)):
        file = _absolute(candidate, cwd)
        if candidate.strip("./~") and (os.path.isfile(file) or os.path.isdir(file)):
            return file
    return None


# -- content ----------------------------------------------------------------------------------------------------------


def _content(path: str, file: Path, info: AgentInfo, cwd: str) -> Block:
    """`path` is what the user typed. Text from outside goes with the prompt; of anything else, what can be taken."""
    with file.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    media = media_type(head, file.name)
    if media.startswith("image/") and not (media.endswith("svg+xml") and "image" not in info.prompt):
        _require("image", info, path)
        return ImageBlock(_encoded(path, file), media)
    if media.startswith("audio/"):
        _require("audio", info, path)
        return AudioBlock(_encoded(path, file), media)
    if _is_inside(file, cwd):
        return _link(file, cwd)
    if is_text(head):
        data = _bytes(path, file, MAX_ATTACHED_BYTES)
        if is_text(data):
            text = data.decode("utf-8", "replace")
            return EmbeddedResource(file.as_uri(), text, mime_type=_named_type(file, "text/plain"))
    if not _takes_resources(info):
        return _link(file, "")
    return EmbeddedResource(
        file.as_uri(), blob=_encoded(path, file), mime_type=_named_type(file, "application/octet-stream")
    )


def _without_resource(block: Block) -> Block:
    """An embedded text as text; a file in a tag, in which what comes from the notebook stands already."""
    if not isinstance(block, EmbeddedResource) or block.text is None:
        return block
    if not block.uri.startswith("file:"):
        return TextBlock(block.text)
    return TextBlock(tagged("attached-file", block.text.rstrip("\n"), path=unquote(urlsplit(block.uri).path)))


def _takes_resources(info: AgentInfo) -> bool:
    """GitHub Copilot CLI (1.0.102) keeps only the path of an embedded file, which it then has to ask for."""
    return "embeddedContext" in info.prompt and info.name.casefold() != "copilot"


def _link(file: Path, cwd: str) -> ResourceLink:
    name = os.path.relpath(file, cwd) if cwd and _is_inside(file, cwd) else str(file)
    if file.is_dir():
        return ResourceLink(f"{file.as_uri().rstrip('/')}/", name, mime_type="inode/directory")
    return ResourceLink(file.as_uri(), name, mime_type=_named_type(file, ""), size=file.stat().st_size)


def _named_type(file: Path, default: str) -> str:
    return mimetypes.guess_type(file.name)[0] or default


def _encoded(path: str, file: Path) -> str:
    return base64.b64encode(_bytes(path, file, MAX_BINARY_BYTES)).decode("ascii")


def _bytes(path: str, file: Path, max_bytes: int) -> bytes:
    """Raises UsageError if there are more; the file may be growing."""
    with file.open("rb") as stream:
        data = stream.read(max_bytes + 1)
        size = max(os.fstat(stream.fileno()).st_size, len(data))
    if len(data) > max_bytes:
        hint = "Copy it into the project and mention it as @path: the agent then reads what it needs of it."
        raise UsageError(f"{path} is too large to attach: {size:,} bytes, at most {max_bytes:,}", hint)
    return data


def _require(capability: str, info: AgentInfo, what: str) -> None:
    if capability not in info.prompt:
        agent = info.title or info.name or "The agent"
        plural = _PLURALS[capability]
        message = f"{agent} does not take {plural} (promptCapabilities.{capability}), so {what} cannot be sent"
        raise UsageError(message, "Mention the file as @path instead: the agent may have a tool that reads it.")


def _absolute(path: str, cwd: str) -> Path:
    """Return the path without `..`, its links kept: what the user called it."""
    return Path(os.path.normpath(os.path.join(cwd, environment_of(cwd).expanded(path))))


def _is_inside(file: Path, cwd: str) -> bool:
    """Links resolved: what a link in the project leads to may lie outside."""
    return bool(cwd) and Path(os.path.realpath(file)).is_relative_to(os.path.realpath(cwd))


def _why(error: Exception) -> str:
    return os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else str(error)


# -- what a file is, by its first bytes, and where those say nothing by its name --------------------------------------

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8[79]a", "image/gif"),
    (b"RIFF....WEBP", "image/webp"),
    (b"RIFF....WAVE", "audio/wav"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mp3"),
    # An MPEG frame without a tag before it: eleven ones, then version and layer, where 0 means AAC (ADTS).
    (b"\xff[\xf0\xf1\xf8\xf9]", "audio/aac"),
    (b"\xff[\xe2\xe3\xf2\xf3\xfa\xfb][\x10-\xef]", "audio/mp3"),
)


def media_type(head: bytes, name: str) -> str:
    """The MIME type of an image or a sound, else an empty string. A name counts only if the bytes allow it."""
    if found := next((media for magic, media in _MAGIC if re.match(magic, head, re.DOTALL)), ""):
        return found
    suffix = Path(name).suffix.lower()
    if suffix == ".svg" and b"<svg" in head:
        return "image/svg+xml"
    return "audio/aac" if suffix == ".aac" and not is_text(head) else ""


def is_text(data: bytes) -> bool:
    """UTF-8 without a zero byte; the last character may be cut in two."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start >= len(data) - 3
    return True
