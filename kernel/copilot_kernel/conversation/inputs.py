"""Members of a tool call's input that agents name in many ways: commands, folder, paths, the tool of an MCP server.

Policy and display read them here, so that what is shown is what is judged. Nothing here raises.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

from .model import ToolCall

COMMAND_NAMES = ("command", "commands", "cmd", "argv")
FOLDER_NAMES = ("cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir", "dir_path")
PATH_NAMES = ("path", "fileName", "file_path", "filePath", "filepath", "filename", "file", "paths", "notebook_path")
SERVER_NAMES = ("server", "serverName", "server_name", "mcpServer")
TOOL_NAMES = ("tool", "toolName", "tool_name")
# Members of an input that are examined; a larger one is not understood.
MAX_MEMBERS = 1_000
MAX_PATHS = 100
NOTEBOOK_PREFIX = "copilot-kernel-notebook-"
"""No id of a call of the agent's begins so (`chat/our_calls.py`)."""
_MCP_TOOL = re.compile(r"mcp__(.+?)__(.+)")
_PATCHED = re.compile(r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,4096})$", re.MULTILINE)


def commands(raw_input: Any) -> tuple[str, ...]:
    """Every command line that the tool was given, without repeats: any of them may be what runs."""
    return tuple(dict.fromkeys(line for name in COMMAND_NAMES for line in lines_under(name, raw_input)))


def lines_under(name: str, raw_input: Any) -> list[str]:
    """The command lines in one member: a text, the words of one command, or in `commands` one line after the other."""
    value = member(raw_input, name)
    if isinstance(value, str):
        return [value] if value else []
    words = [str(word) for word in value] if isinstance(value, list | tuple) else []
    return [shlex.join(words)] if name != "commands" and words else words


def folder(raw_input: Any) -> str:
    """The folder in which the command runs, or nothing."""
    return next((value for name in FOLDER_NAMES if isinstance(value := member(raw_input, name), str)), "")


def paths(call: ToolCall) -> tuple[str, ...]:
    """Every path that the call names as such, without repeats."""
    found = (*(location.path for location in call.locations), *strings(call.raw_input, PATH_NAMES))
    return tuple(path for path in dict.fromkeys(found) if path)


def mcp_tool(call: ToolCall) -> tuple[str, str] | None:
    """Server and name of the tool of an MCP server, where the agent says so in a place that a model cannot write.

    That is its name, or what agents add in `_meta`, at its top or under a name of theirs. GitHub Copilot shows a call
    as `SERVER-TOOL`, and then asks about `TOOL`. In `rawInput` it counts only if the title says the same.
    """
    if named := next(filter(None, map(_MCP_TOOL.fullmatch, _given_names(call))), None):
        return named[1], named[2]
    invoked = _invoked(call.raw_input)
    if len(invoked) == 1 and "/".join(invoked[0]) == call.title.removeprefix("Tool: "):
        return invoked[0]
    may_be_shown = call.title and call.kind == "other" and not commands(call.raw_input)
    shown = re.fullmatch(rf"([\w.-]+)-{re.escape(call.title)}", call.fuller_title) if may_be_shown else None
    return (shown[1], call.title) if shown else None


def tool(call: ToolCall) -> str | None:
    """`mcp_tool` as `mcp__server__tool`."""
    found = mcp_tool(call)
    return f"mcp__{found[0]}__{found[1]}" if found else None


def claimed_tools(call: ToolCall) -> tuple[str, ...]:
    """Everything that may be the name of a tool, also where a model may have written it: for denying and asking."""
    titles, pairs = (call.title.removeprefix("Tool: "), call.fuller_title), _invoked(call.raw_input)
    invoked = (f"mcp__{server}__{name}" for server, name in pairs)
    return tuple(dict.fromkeys(filter(None, (tool(call), *_given_names(call), *titles, *invoked))))


def title(call: ToolCall) -> str:
    """The title to show: of a tool of another MCP server than ours, it always names server and tool."""
    found = None if is_of_notebook(call) else mcp_tool(call)
    if found is None:
        return call.best_title
    joined = (mark.join(found) for mark in "_.:/-")
    says_no_more = ("", found[1], f"mcp__{'__'.join(found)}", *joined)
    return " · ".join(found if call.best_title in says_no_more else (*found, call.best_title))


def is_of_notebook(call: ToolCall) -> bool:
    """Return True if our own question about a notebook tool has this input."""
    return call.call_id.startswith(NOTEBOOK_PREFIX)


def patched(call: ToolCall) -> list[str]:
    """The files of a patch in the form that the `apply_patch` of some agents takes."""
    texts = (call.raw_input, *strings(call.raw_input, ("input", "patch", "patchText", "diff")))
    found = (match[1] for text in texts if isinstance(text, str) for match in _PATCHED.finditer(text))
    return list(islice(found, 2 * MAX_PATHS))


def strings(raw_input: Any, names: Iterable[str]) -> list[str]:
    """Return the strings under one of the names: a string or a list of them."""
    values = [raw_input[name] for name in names if name in raw_input] if isinstance(raw_input, dict) else []
    some = chain.from_iterable(
        value[: MAX_MEMBERS + 1] if isinstance(value, list | tuple) else [value] for value in values
    )
    return [text for text in some if isinstance(text, str)]


def member(value: Any, name: str) -> Any:
    """A member of an object; None if it is missing or `value` is not an object."""
    return value.get(name) if isinstance(value, dict) else None


def _given_names(call: ToolCall) -> list[str]:
    """Return the names that the agent itself gives the tool: one name, or those of a server and its tool."""
    places = [call.meta, *call.meta.values()]
    pairs = (f"mcp__{server}__{name}" for place in places for server, name in _invoked(place))
    return [call.name, *(name for place in places for name in strings(place, TOOL_NAMES)), *pairs]


def _invoked(raw: Any) -> list[tuple[str, str]]:
    servers, tools = strings(raw, SERVER_NAMES)[:9], strings(raw, TOOL_NAMES)[:9]
    return [(server, name) for server in servers for name in tools]
