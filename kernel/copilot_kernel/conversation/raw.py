"""Readers of `rawInput`, `rawOutput` and `_meta`, in the shapes that agents were seen to send. Nothing here raises.

`inputs.py` reads commands, their folder and paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..acp.messages import (
    AudioBlock,
    Block,
    Diff,
    EmbeddedResource,
    ImageBlock,
    ResourceLink,
    TerminalContent,
    TextBlock,
    ToolContent,
)
from ..acp.parse import parse_block
from .inputs import COMMAND_NAMES, PATH_NAMES, folder, lines_under, member
from .model import FINAL, ToolCall

NOT_JSON = "({} that cannot be written as JSON)"

_FENCED = re.compile(r"\s*(`{3,})[\w.+-]*\n(.*?)\n?\1\s*\Z", re.DOTALL)
_TEXT_NAMES = ("content", "output", "formatted_output", "aggregated_output", "stdout", "text", "result", "message")
_DIFF_NAMES = ("diff", "patch", "unified_diff", "unifiedDiff", "detailedContent")
_CONTENT_NAMES = ("contents", "content")
_ATTACHED = ImageBlock | AudioBlock | EmbeddedResource | ResourceLink
_CODE_NAMES = ("exitCode", "exit_code", "exit", "returncode")
_SHELL_EXIT = re.compile(r"\n?<(?:shellId: [^\s>]{1,64} completed|exited) with exit code (-?\d{1,9})>\s*$")
_PLAN_TABLE = re.compile(r"\b(?:INTO|UPDATE|FROM|TABLE(?: IF NOT EXISTS)?)\s+(?:todos|todo_deps)\b", re.IGNORECASE)
_EXIT_LINE = re.compile(r"Exit code (\d{1,9})(?:\n|$)")


def as_json(value: Any) -> str:
    """`value` as indented JSON, or a remark that it cannot be."""
    try:
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return NOT_JSON.format(type(value).__name__)


def is_plan_update(call: ToolCall) -> bool:
    """Return True for the tool `sql`, in which GitHub Copilot keeps its plan. It titles MCP tools by their name."""
    given = call.raw_input if isinstance(call.raw_input, Mapping) else {}
    is_theirs = set(given) == {"query", "description"} and call.kind == "other" and call.title == given["description"]
    return is_theirs and bool(_PLAN_TABLE.search(str(given["query"])))


def unified_diff(raw: Any) -> str:
    """The unified diff in `raw`; empty if there is none."""
    texts = (value for name in _DIFF_NAMES if isinstance(value := member(raw, name), str))
    return next((text for text in texts if re.search(r"^@@ ", text, re.MULTILINE)), "")


def rest(raw_input: Any, seen: Collection[str] = ()) -> Any:
    """The members of `raw_input` that are neither a command, path, folder or diff, nor a text in `seen`; or None."""
    if not isinstance(raw_input, Mapping):
        return raw_input or None
    seen = {*seen, "", unified_diff(raw_input), folder(raw_input)}
    left = {}
    for key, value in raw_input.items():
        is_seen = value in seen if isinstance(value, str) else value is None or value in ([], {})
        if not (is_seen or _is_command_or_path(key, value)):
            left[key] = value
    return left or None


def output_of(call: ToolCall) -> str:
    """The call's output as plain text: from its content, else from the raw output; of a failed call, from both."""
    texts = [text for part in call.content if (text := _content_text(call, part))]
    if call.status == "failed" or not (texts or any(isinstance(part, Diff) for part in call.content)):
        output = output_text(call.raw_output)
        if output and not any(output.strip() in text for text in texts):
            texts.append(output)
    return "\n".join(texts) or terminal_text(call.meta)


def exit_code(call: ToolCall, text: str) -> int | None:
    """The exit code of the call's command, from the places where agents report it, or from `text`, its output."""
    raw = call.raw_output
    for part in _sequence(member(raw, "contents")):
        if member(part, "type") == "shell_exit":
            return _integer(member(part, "exitCode"))
    places = (member(call.meta, "terminal_exit"), raw, member(raw, "metadata"))
    codes = (_integer(member(place, name)) for place in places for name in _CODE_NAMES)
    if (code := next((code for code in codes if code is not None), None)) is not None:
        return code
    found = _SHELL_EXIT.search(text) or _EXIT_LINE.match(text)
    return int(found[1]) if found else None


def without_exit_line(text: str) -> str:
    """`text` without the line in which an agent repeats the exit code."""
    return _EXIT_LINE.sub("", _SHELL_EXIT.sub("", text))


def output_text(raw_output: Any) -> str:
    """The text in `raw_output`, or its JSON; empty if it holds only what is shown elsewhere."""
    if isinstance(raw_output, str):
        return raw_output
    texts = [value for name in _TEXT_NAMES if (value := _readable(member(raw_output, name)))]
    if texts:
        streams = (_readable(member(raw_output, name)) for name in ("stdout", "stderr"))
        others = (text for text in streams if text and text not in texts[0])
        return "\n".join(text.rstrip("\n") for text in (texts[0], *others))
    return "" if raw_output in (None, {}, []) or _is_shown_elsewhere(raw_output) else as_json(raw_output)


def terminal_text(meta: Any, terminal_id: str = "") -> str:
    """Terminal output in `_meta`, where some agents send it (not in the specification)."""
    for name in ("terminal_output", "terminal_output_delta"):
        value = member(meta, name)
        text = value if isinstance(value, str) else member(value, "data")
        is_other = terminal_id and member(value, "terminal_id") not in (None, terminal_id)
        if isinstance(text, str) and text and not is_other:
            return text
    return ""


def is_growing(call: ToolCall) -> bool:
    """Return True if more output may follow: of a call that is not over, or of a terminal whose command still runs."""
    return call.status not in FINAL or call.meta.get("terminal_exit", ()) is None


def attachments(call: ToolCall) -> tuple[Block, ...]:
    """Images, sounds, links and resources in `rawOutput` alone, where Copilot puts those of MCP tools."""
    parts = (part for name in _CONTENT_NAMES for part in _sequence(member(call.raw_output, name)))
    found = map(parse_block, parts)
    return tuple(block for block in found if isinstance(block, _ATTACHED) and block not in call.content)


def unfenced(text: str) -> str:
    """The code in a text that is one block of it; empty for any other."""
    fence = _FENCED.match(text)
    return fence[2] if fence and fence[1] not in fence[2] else ""


def _content_text(call: ToolCall, part: ToolContent) -> str:
    match part:
        case TextBlock(text=text):
            return unfenced(text) or text
        case TerminalContent(id):
            return terminal_text(call.meta, id) or f"(terminal {id}: no output was sent)"
        case _:
            return ""


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _is_command_or_path(key: str, value: Any) -> bool:
    if key in COMMAND_NAMES:
        return bool(lines_under(key, {key: value}))
    is_list = bool(value) and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return key in PATH_NAMES and (isinstance(value, str) or is_list)


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**32 else None


def _readable(value: Any) -> str:
    if isinstance(value, str):
        return value
    texts = [member(part, "text") or member(member(part, "content"), "text") for part in _sequence(value)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _is_shown_elsewhere(raw_output: Any) -> bool:
    if not isinstance(raw_output, Mapping):
        return False
    content = _sequence(raw_output.get("content"))
    known = {*_CODE_NAMES, "metadata", "contents", "signal", "isError"}
    if content and all(isinstance(parse_block(part), _ATTACHED) for part in content):
        known.add("content")
    return {name for name, value in raw_output.items() if value not in ("", None)} <= known
