"""What agents put into `rawInput`, `rawOutput` and `_meta`, in the shapes that were seen; nothing here raises.

The text, the exit code and the images that came out. What goes in (commands, their folder, paths) is read by the
policy, so that what is shown is what is judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..acp.blocks import parse_block
from ..acp.messages import Audio, Block, Image, Resource, ResourceLink
from ..conversation.model import ToolCall
from ..permissions.inputs import COMMAND_NAMES, PATH_NAMES, lines_under
from ..permissions.inputs import commands as commands
from ..permissions.inputs import folder as folder
from ..permissions.inputs import paths as paths

_TEXT_NAMES = ("content", "output", "formatted_output", "aggregated_output", "stdout", "text", "result", "message")
_DIFF_NAMES = ("diff", "patch", "unified_diff", "unifiedDiff", "detailedContent")
_CONTENT_NAMES = ("contents", "content")
_ATTACHED = Image | Audio | Resource | ResourceLink
_CODE_NAMES = ("exitCode", "exit_code", "exit", "returncode")
_SHELL_EXIT = re.compile(r"\n?<shellId: [^\s>]{1,64} completed with exit code (-?\d{1,9})>\s*$")
_EXIT_LINE = re.compile(r"Exit code (\d{1,9})(?:\n|$)")


def as_json(value: Any) -> str:
    """`value` as indented JSON; a plain remark where that cannot be."""
    try:
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return f"({type(value).__name__} that cannot be written as JSON)"


def unified_diff(raw: Any) -> str:
    """The text of a unified diff that the agent wrote, or nothing."""
    for name in _DIFF_NAMES:
        value = _member(raw, name)
        if isinstance(value, str) and re.search(r"^@@ ", value, re.MULTILINE):
            return value
    return ""


def rest(raw_input: Any, seen: Collection[str] = ()) -> Any:
    """What of `raw_input` neither the functions above show nor the texts in `seen`; None if that is nothing."""
    if not isinstance(raw_input, Mapping):
        return raw_input or None
    seen = {*seen, "", unified_diff(raw_input), folder(raw_input)}
    left = {key: value for key, value in raw_input.items() if not (_is_shown(key, value) or _is_seen(value, seen))}
    return left or None


def exit_code(call: ToolCall, text: str) -> int | None:
    """How the command ended, from the places where agents say so, or None."""
    raw = call.raw_output
    for part in _sequence(_member(raw, "contents")):
        if _member(part, "type") == "shell_exit":
            return _integer(_member(part, "exitCode"))
    places = (_terminal_exit(call.meta), raw, _member(raw, "metadata"))
    for place in places:
        for name in _CODE_NAMES:
            code = _integer(_member(place, name))
            if code is not None:
                return code
    found = _SHELL_EXIT.search(text) or _EXIT_LINE.match(text)
    return int(found[1]) if found else None


def without_exit_line(text: str) -> str:
    """`text` without the line in which an agent repeats the exit code."""
    return _EXIT_LINE.sub("", _SHELL_EXIT.sub("", text))


def output_text(raw_output: Any) -> str:
    """The text in `raw_output`, or its JSON; nothing if there is none."""
    if isinstance(raw_output, str):
        return raw_output
    texts = [value for name in _TEXT_NAMES if (value := _readable(_member(raw_output, name)))]
    if texts:
        others = (text for text in _streams(raw_output) if text not in texts[0])
        return "\n".join(text.rstrip("\n") for text in (texts[0], *others))
    without = _has_nothing_else(raw_output)
    return "" if raw_output in (None, {}, []) or without else as_json(raw_output)


def terminal_text(meta: Any, terminal_id: str = "") -> str:
    """What the agent sent of a terminal in `_meta`, which the specification does not know."""
    for name in ("terminal_output", "terminal_output_delta"):
        value = _member(meta, name)
        text = value if isinstance(value, str) else _member(value, "data")
        is_other = terminal_id and _member(value, "terminal_id") not in (None, terminal_id)
        if isinstance(text, str) and text and not is_other:
            return text
    return ""


def attachments(call: ToolCall) -> tuple[Block, ...]:
    """Images, sounds, links and resources in `rawOutput` alone, which is where Copilot puts those of MCP tools."""
    found = (parse_block(part) for part in _content_parts(call.raw_output))
    return tuple(block for block in found if isinstance(block, _ATTACHED) and block not in call.content)


def _content_parts(raw_output: Any) -> Iterator[Any]:
    for name in _CONTENT_NAMES:
        yield from _sequence(_member(raw_output, name))


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [text for text in _sequence(value) if isinstance(text, str)]


def _is_shown(key: str, value: Any) -> bool:
    """As a command or as a path."""
    if key in COMMAND_NAMES:
        return bool(lines_under(key, {key: value}))
    return key in PATH_NAMES and (isinstance(value, str) or (bool(_texts(value)) and _texts(value) == list(value)))


def _is_seen(value: Any, seen: Collection[str]) -> bool:
    return value in seen if isinstance(value, str) else value is None or value in ([], {})


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**32 else None


def _terminal_exit(meta: Any) -> Any:
    return _member(meta, "terminal_exit")


def _streams(raw_output: Any) -> Iterator[str]:
    yield from filter(None, (_readable(_member(raw_output, name)) for name in ("stdout", "stderr")))


def _readable(value: Any) -> str:
    """A text, or the texts of a list of content blocks."""
    if isinstance(value, str):
        return value
    texts = [_member(part, "text") or _member(_member(part, "content"), "text") for part in _sequence(value)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _has_nothing_else(raw_output: Any) -> bool:
    """Besides what is shown elsewhere; other members of `content` than attachments are not."""
    content = _sequence(_member(raw_output, "content"))
    known = {*_CODE_NAMES, "metadata", "contents", "signal", "isError"}
    if content and all(isinstance(parse_block(part), _ATTACHED) for part in content):
        known.add("content")
    if not isinstance(raw_output, Mapping):
        return False
    return {name for name, value in raw_output.items() if value not in ("", None)} <= known
