"""Files that go with a prompt: attached ones as content, mentioned ones (`@path`) as links (spec: content).

What the agent cannot take is refused here, with the capability that it lacks. A file of the project is a link, since
the agent can read it itself; what lies outside goes with the prompt.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..acp.messages import AgentInfo, Audio, Block, Image, Resource, ResourceLink, Text
from ..errors import UsageError
from .kinds import HEAD, is_text, media_type, named_type

LARGEST_BINARY = 10 * 1024 * 1024
LARGEST_TEXT = 1024 * 1024
"""Bytes."""
MOST_MENTIONS = 100
MOST_PUNCTUATION = 4
"""Characters that may follow a mention and do not belong to it."""

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_MENTION = re.compile(r'(?<![^\s(\[{<,;:"\'])@(?:"([^"\n]+)"|([^\s"@]+))')
_PUNCTUATION = ".,;:!?)]}>'\"…"


def check(blocks: Sequence[Block], info: AgentInfo) -> None:
    """Raises UsageError for what this agent cannot take; it may be another one than when it was attached."""
    for block in blocks:
        _require(_needs(block), info, "what was attached")


def read(path: str, info: AgentInfo, cwd: str) -> Block:
    """The file `path` (relative to `cwd`, or with `~`) as content for this agent. Raises UsageError."""
    place = _placed(path, cwd)
    try:
        status = place.stat()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {_why(error)}", "Check the path; blanks need quotes.") from error
    if stat.S_ISDIR(status.st_mode):
        return _link(place, cwd)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path} is neither a file nor a folder", "Only those can be attached.")
    try:
        return _content(path, place, status.st_size, info, cwd)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {_why(error)}", "Check who may read it.") from error


def mentions(text: str, cwd: str) -> list[Block]:
    """A link for each file or folder that `text` mentions as `@path` or `@"path"`, once, in order.

    Only what exists counts, and nothing inside of code.
    """
    found: dict[Path, None] = {}
    for path in _mentioned(text):
        place = _existing(path, cwd)
        if place is not None and len(found) < MOST_MENTIONS:
            found[place] = None
    return [_link(place, cwd) for place in found]


# -- attached -----------------------------------------------------------------------------------------------------


def _content(path: str, place: Path, size: int, info: AgentInfo, cwd: str) -> Block:
    with place.open("rb") as file:
        head = file.read(HEAD)
    media = media_type(head, place.name)
    if media.startswith("image/") and not (media.endswith("svg+xml") and "image" not in info.prompt):
        _require("image", info, path)
        return Image(_encoded(path, place, size), media)
    if media.startswith("audio/"):
        _require("audio", info, path)
        return Audio(_encoded(path, place, size), media)
    if _is_inside(place, cwd):
        return _link(place, cwd)
    return _outside(path, place, size, info, is_text(head))


def _outside(path: str, place: Path, size: int, info: AgentInfo, seems_text: bool) -> Block:
    """Text goes with the prompt; of anything else, what the agent can take."""
    if seems_text:
        data = _bytes(path, place, size, LARGEST_TEXT)
        if is_text(data):
            return _text(place, data.decode("utf-8", "replace"), info)
    if "embeddedContext" not in info.prompt or _keeps_the_path_only(info):
        return _link(place, "")
    blob = _encoded(path, place, size)
    return Resource(place.as_uri(), blob=blob, mime_type=named_type(place.name, "application/octet-stream"))


def _text(place: Path, text: str, info: AgentInfo) -> Block:
    if "embeddedContext" in info.prompt and not _keeps_the_path_only(info):
        return Resource(place.as_uri(), text, mime_type=named_type(place.name, "text/plain"))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Text(f"The file {place}:\n{fence}\n{text.rstrip(chr(10))}\n{fence}")


def _keeps_the_path_only(info: AgentInfo) -> bool:
    """GitHub Copilot CLI (1.0.102) makes of an embedded file its path, which it then has to ask for."""
    return info.name.casefold() == "copilot"


def _link(place: Path, cwd: str) -> ResourceLink:
    if place.is_dir():
        return ResourceLink(f"{place.as_uri().rstrip('/')}/", _name(place, cwd), mime_type="inode/directory")
    mime_type = named_type(place.name, "")
    return ResourceLink(place.as_uri(), _name(place, cwd), mime_type=mime_type, size=place.stat().st_size)


def _name(place: Path, cwd: str) -> str:
    return os.path.relpath(place, cwd) if cwd and _is_inside(place, cwd) else str(place)


def _encoded(path: str, place: Path, size: int) -> str:
    return base64.b64encode(_bytes(path, place, size, LARGEST_BINARY)).decode("ascii")


def _bytes(path: str, place: Path, size: int, most: int) -> bytes:
    """It may have grown since its size was looked at."""
    with place.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        hint = "Copy it into the project and mention it as @path: the agent then reads what it needs of it."
        raise UsageError(f"{path} is too large to attach: {max(size, most + 1):,} bytes, at most {most:,}", hint)
    return data


def _needs(block: Block) -> str:
    match block:
        case Image():
            return "image"
        case Audio():
            return "audio"
        case Resource():
            return "embeddedContext"
        case _:
            return ""


_KINDS = {"image": "images", "audio": "sounds", "embeddedContext": "embedded files"}


def _require(capability: str, info: AgentInfo, what: str) -> None:
    if capability and capability not in info.prompt:
        agent = info.title or info.name or "The agent"
        message = f"{agent} takes no {_KINDS[capability]} (promptCapabilities.{capability}), so {what} cannot be sent"
        raise UsageError(message, "Mention the file as @path instead: the agent may have a tool that reads it.")


# -- mentioned ----------------------------------------------------------------------------------------------------


def _mentioned(text: str) -> Iterator[str]:
    """What stands after each @, outside of code."""
    for match in _MENTION.finditer(_CODE.sub(_blank, _FENCED.sub(_blank, text))):
        yield match[1] or match[2]


def _blank(code: re.Match[str]) -> str:
    return " "


def _existing(path: str, cwd: str) -> Path | None:
    """`path` as it stands, or without the punctuation at its end."""
    for candidate in _shorter(path):
        place = _placed(candidate, cwd)
        if candidate.strip("./~") and _exists(place):
            return place
    return None


def _shorter(path: str) -> Iterable[str]:
    yield path
    for _ in range(MOST_PUNCTUATION):
        if not path or path[-1] not in _PUNCTUATION:
            return
        path = path[:-1]
        yield path


def _exists(place: Path) -> bool:
    try:
        return stat.S_IFMT(place.stat().st_mode) in (stat.S_IFREG, stat.S_IFDIR)
    except (OSError, ValueError):
        return False


def _placed(path: str, cwd: str) -> Path:
    """Absolute, without `..`, its links kept: what the user called it."""
    home = os.path.expanduser(path)
    return Path(os.path.normpath(os.path.join(cwd, home)))


def _is_inside(place: Path, cwd: str) -> bool:
    """Links resolved: what a link in the project leads to may lie outside."""
    return bool(cwd) and Path(os.path.realpath(place)).is_relative_to(os.path.realpath(cwd))


def _why(error: Exception) -> str:
    return os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else str(error)
