"""What a tool call says that it will do: command lines, their folder, every path, every address, which server's tool.

Agents put these into `rawInput` under many names; this is the one list of them. Nothing here raises.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ..acp.messages import Diff
from ..conversation.model import ToolCall
from .patches import heads_in, member, patched

COMMAND_NAMES = ("command", "commands", "cmd", "argv")
FOLDER_NAMES = ("cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir", "dir_path")
PATH_NAMES = ("path", "fileName", "file_path", "filePath", "filepath", "filename", "file", "paths", "notebook_path")
SEARCH_NAMES = (
    "glob",
    "globs",
    "include",
    "includes",
    "include_pattern",
    "includePattern",
    "file_pattern",
    "filePattern",
)
URL_NAMES = ("url", "uri", "href", "address", "urls")
SERVER_NAMES = ("server", "serverName", "server_name", "mcpServer")
TOOL_NAMES = ("tool", "toolName", "tool_name")

HARMLESS_NAMES = frozenset(
    {
        "description",
        "explanation",
        "reason",
        "goal",
        "title",
        "mode",
        "async",
        "detach",
        "background",
        "call_id",
        "callId",
    }
    | {"sessionId", "session_id", "shellId", "shell_id", "isBackground", "is_background", "run_in_background"}
    | {"timeout", "timeout_ms", "timeoutMs", "timeout_secs", "timeoutSeconds", "timeout_seconds", "turn_id", "turnId"}
    | {"initial_wait", "initialWait", "yield_time_ms", "max_output_tokens", "outputByteLimit"}
)
"""Members that may stand beside a command without changing what it does; beside any other, nobody can tell."""

SCRIPT_NAMES = ("script", "shell_command", "shellCommand", "bash", "cmdline")
"""Members that may hold a command too; they are shown with the rest of the input, and no rule allows them."""

TEXT_NAMES = frozenset(
    {"content", "contents", "text", "old_text", "new_text", "oldtext", "newtext", "old_str", "new_str", "file_text"}
    | {"old_string", "new_string", "oldstring", "newstring", "new_source", "insert_text", "diff", "patch", "title"}
    | {"description", "explanation", "reason"}
)
"""Members, in lower case, that hold what is in a file or say something about it, and no path."""

EDIT_TEXT_NAMES = TEXT_NAMES | {
    *("search", "replace", "replacement", "code", "code_edit", "old_code", "new_code", "old_content", "new_content"),
    *("instruction", "instructions"),
}
"""The same of a call that changes a file; elsewhere these may be something else."""

_LINES = tuple(name for name in COMMAND_NAMES if name != "commands")
_SHELLS = [
    (shell, option) for shell in ("bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash") for option in ("-c", "-lc")
]

GATE = "outside trusted director"
"""How Copilot CLI asks, with kind `read`, to leave the folder at all, even when it is about to write there."""

FILE_KINDS = frozenset({"read", "search", "edit", "delete", "move"})
MOST = 1_000
"""Members of an input that are looked at; one with more is not understood."""
MOST_PATHS = 100
_MOST_FOLDERS = 2_000
"""In all paths together."""
_FEW = 20
"""Paths that are looked at where there are too many: enough to deny."""
_MOST_ENDS = 10
_LONGEST_PATH = 4096
_NUMBER = "0123456789.,:%+-"

_PATH_ENDS = ("path", "paths", "file", "files", "filename", "uri", "url", "dir", "directory", "folder")
_ENDS = frozenset({"source", "src", "destination", "dest", "target", "targets", "from", "to"})
_BY_NAME = frozenset({"changes", "files", "edits"})
"""Members whose own members may be called as the files are."""
_FILE_NAME = re.compile(r"[\w.-]*\.\w+")
_NO_PATHS = HARMLESS_NAMES.union(COMMAND_NAMES, SCRIPT_NAMES, FOLDER_NAMES, SERVER_NAMES, TOOL_NAMES) | {
    "pattern",
    "query",
    "regex",
}
_URL = re.compile(r"\w+://\S{1,8000}")


@dataclass(frozen=True, slots=True)
class Input:
    """`paths` are as the agent wrote them, of a call that is about files all that may be one. `too_much`: not all."""

    lines: tuple[str, ...]
    """Command lines, each of which is said to be the whole of what runs."""
    listed: tuple[str, ...]
    """Command lines in a list of several."""
    scripts: tuple[str, ...]
    folder: str
    paths: tuple[str, ...]
    urls: tuple[str, ...]
    tool: str
    diffs: bool
    is_gate: bool
    too_much: bool
    searched: tuple[str, ...]
    """Patterns for the names of files in which a search looks."""
    aside: str
    """A member beside the command that changes what it does, or holds another one."""
    inner: tuple[str, ...]
    """Of a call that is not about files: what looks like a path, at whatever depth."""
    vague: tuple[str, ...]
    """Other texts that could be paths; only for denying and asking."""
    inner_urls: tuple[str, ...]
    """Addresses at whatever depth; only for denying and asking."""

    @property
    def commands(self) -> tuple[str, ...]:
        """All command lines, without repeats."""
        return tuple(dict.fromkeys((*self.lines, *self.listed)))


def read(call: ToolCall) -> Input:
    """All that the merged call says."""
    texts = list(_leaves(call.raw_input, EDIT_TEXT_NAMES if call.kind == "edit" else TEXT_NAMES))
    leaves = tuple(dict.fromkeys(texts))
    found, many = _within(MOST_PATHS, _named(call, leaves))
    beside = (value for key, value in leaves if key not in _NO_PATHS and _like_path(value))
    others, more = _within(MOST_PATHS, beside)
    too_much = many or more or len(texts) > MOST or heads_in(call.raw_input) > MOST_PATHS
    inner = {value for key, value in leaves if _is_path(key, value)}.intersection(() if too_much else others)
    listed = tuple(lines_under("commands", call.raw_input))
    return Input(
        lines=tuple(dict.fromkeys(line for name in _LINES for line in _run_by(name, call.raw_input))) or listed,
        listed=listed,
        scripts=_scripts(call.raw_input, leaves),
        folder=folder(call.raw_input),
        paths=found[:_FEW] if too_much else found,
        urls=tuple(dict.fromkeys(text for name in URL_NAMES for text in _texts(member(call.raw_input, name)))),
        tool=tool(call),
        diffs=any(isinstance(item, Diff) for item in call.content) or any(patched(call)),
        is_gate=GATE in call.title.lower(),
        too_much=too_much,
        searched=tuple(text for name in SEARCH_NAMES for text in _texts(member(call.raw_input, name))),
        aside=_aside(call.raw_input),
        inner=tuple(value for value in others if value in inner),
        vague=() if too_much else tuple(value for value in others if value not in inner),
        inner_urls=tuple(value for _, value in leaves if _URL.fullmatch(value))[:MOST_PATHS],
    )


def _named(call: ToolCall, leaves: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Every path of a call that is about files; of others, those that they call so."""
    named = chain(paths(call), patched(call), (item.path for item in call.content if isinstance(item, Diff)))
    if call.kind in FILE_KINDS:
        named = chain(named, (value for key, value in leaves if _may_be_path(key, value)))
    if call.kind == "move":
        return iter(_ends([*named, *(value for key, value in leaves if _may_be_name(key, value))]))
    return named


def _within(most: int, paths: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """As many of the paths as can be looked at, without repeats; True: there are more."""
    kept: dict[str, None] = {}
    folders = 0
    for path in filter(None, paths):
        folders += path.count("/") if path not in kept else 0
        if folders > _MOST_FOLDERS or (len(kept) == most and path not in kept):
            return tuple(kept), True
        kept[path] = None
    return tuple(kept), False


def commands(raw_input: Any) -> tuple[str, ...]:
    """Every command line that the tool was given, without repeats: all of them, for nobody knows which one runs."""
    return tuple(dict.fromkeys(line for name in COMMAND_NAMES for line in lines_under(name, raw_input)))


def _scripts(raw_input: Any, leaves: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Also what stands deeper in the input under a name for commands."""
    named = [text for name in SCRIPT_NAMES for text in _texts(member(raw_input, name))]
    known = {text for name in COMMAND_NAMES for text in _texts(member(raw_input, name))}
    deeper = [value for key, value in leaves if key in COMMAND_NAMES + SCRIPT_NAMES and value not in known]
    return tuple(dict.fromkeys((*named, *deeper)))


def _run_by(name: str, raw_input: Any) -> list[str]:
    """As `lines_under`, but of a shell that is given one line, the line."""
    value = member(raw_input, name)
    is_shell = isinstance(value, list | tuple) and len(value) == 3 and tuple(value[:2]) in _SHELLS
    return [value[2]] if is_shell and isinstance(value[2], str) else lines_under(name, raw_input)


def lines_under(name: str, raw_input: Any) -> list[str]:
    """The command lines in one member: a text, the words of one command, or in `commands` one line after the other."""
    value = member(raw_input, name)
    if isinstance(value, str):
        return [value] if value else []
    words = [word if isinstance(word, str) else _as_json(word) for word in _sequence(value)]
    return [shlex.join(words)] if name != "commands" and words else words


def folder(raw_input: Any) -> str:
    """The folder in which the command runs, or nothing."""
    return next((value for name in FOLDER_NAMES if isinstance(value := member(raw_input, name), str)), "")


def paths(call: ToolCall) -> tuple[str, ...]:
    """Every path that the call names as such, without repeats."""
    found = {location.path: None for location in call.locations}
    for name in PATH_NAMES:
        found |= dict.fromkeys(_texts(member(call.raw_input, name)))
    return tuple(path for path in found if path)


def tool(call: ToolCall) -> str:
    """The tool of an MCP server as `mcp__server__tool`, where the agent says so in a place that a model cannot write.

    That is its name, or what agents add in `_meta`; in `rawInput` it counts only if the title says the same.
    """
    given = (call.name, *(member(value, "toolName") for value in call.meta.values()))
    named = next((name for name in given if isinstance(name, str) and name.startswith("mcp__")), "")
    if named:
        return named
    invoked = _invoked(call.raw_input)
    titles = [f"{server}/{name}" for server, name in invoked]
    if len(invoked) == 1 and call.title.removeprefix("Tool: ") in titles:
        return f"mcp__{invoked[0][0]}__{invoked[0][1]}"
    return ""


def claimed_tools(call: ToolCall) -> tuple[str, ...]:
    """Everything that may be the name of a tool, also where a model could have written it: for denying and asking."""
    pairs = [f"mcp__{server}__{name}" for server, name in _invoked(call.raw_input)]
    return tuple(dict.fromkeys(filter(None, (tool(call), call.name, call.title.removeprefix("Tool: "), *pairs))))


def _invoked(raw_input: Any) -> list[tuple[str, str]]:
    servers = [text for name in SERVER_NAMES for text in _texts(member(raw_input, name))][:9]
    tools = [text for name in TOOL_NAMES for text in _texts(member(raw_input, name))][:9]
    return [(server, name) for server in servers for name in tools]


def _aside(raw_input: Any) -> str:
    members = raw_input.items() if isinstance(raw_input, Mapping) else ()
    strange = next((str(name) for name, value in members if _is_strange(name, value)), "")
    folders = {name: value for name, value in members if name in FOLDER_NAMES and value is not None}
    is_clear = len({str(value) for value in folders.values()}) <= 1
    return strange or ("" if is_clear else next(iter(folders)))


def _is_strange(name: object, value: Any) -> bool:
    """A member whose spelling is not known, or whose value is not of the shape that its name says; null is none."""
    if name in COMMAND_NAMES:
        return value is not None and not _is_flat(value)
    if name in FOLDER_NAMES:
        return value is not None and not (isinstance(value, str) and value)
    return bool(value) and not (name in HARMLESS_NAMES and isinstance(value, str | int | float))


def _is_flat(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(word, str) for word in value))


def _leaves(raw: Any, texts: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Texts with the names they stand under, at most one more than `MOST`; but for those under the names in `texts`.

    Names that are paths themselves (as in `{"changes": {"/a": …}}`) count as texts.
    """
    todo, count = [("", raw)], 0
    while todo and count <= MOST:
        key, value = todo.pop()
        count += 1
        if isinstance(value, dict):
            members = list(islice(value.items(), MOST + 1))
            todo += [(str(name), inner) for name, inner in members if str(name).lower() not in texts]
            names = [name for name, _ in members if isinstance(name, str)]
            todo += [("path", name) for name in names] if key.lower() in _BY_NAME else []
            todo += [("", name) for name in names if "/" in name]
        elif isinstance(value, list | tuple):
            todo += [("" if isinstance(inner, dict) else key, inner) for inner in value[: MOST + 1]]
        elif isinstance(value, str):
            yield key, value
    if todo:
        yield from ([("", "")] * (MOST + 1))


def _may_be_path(key: str, value: str) -> bool:
    name = key.lower()
    looks = value.startswith(("/", "~", "\\")) or "://" in value or ".." in value
    named = name.endswith(_PATH_ENDS) or name in _ENDS or (name == "name" and bool(_FILE_NAME.fullmatch(value)))
    return named or (looks and "*** Begin Patch" not in value)


def _may_be_name(key: str, value: str) -> bool:
    """Of a move: where it goes may stand under any name, and may be a mere name."""
    return key not in _NO_PATHS and 0 < len(value) <= _LONGEST_PATH and "\n" not in value


def _ends(named: Sequence[str]) -> list[str]:
    """All of them; and a mere name also beside each of the others, for that is what renaming may mean."""
    some = list(dict.fromkeys(named))[: MOST_PATHS + 1]
    folders = {posixpath.dirname(path) for path in some[:_MOST_ENDS] if "/" in path}
    names = [path for path in some if "/" not in path]
    return [*some, *(posixpath.join(folder, name) for name in names[:_MOST_ENDS] for folder in sorted(folders))]


def _like_path(value: str) -> bool:
    """An absolute path, also with blanks in it, or one word with a slash or a dot; no address and no number."""
    if not 0 < len(value) <= _LONGEST_PATH or "\n" in value or ("://" in value and not value.startswith("file:")):
        return False
    is_name = ("/" in value or "." in value) and " " not in value and "\t" not in value and value.strip(_NUMBER) != ""
    return value[0] in "/~" or is_name


def _is_path(key: str, value: str) -> bool:
    name = key.lower()
    return value.startswith(("/", "~/", "file:", "../")) or name.endswith(_PATH_ENDS) or name in _ENDS


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: Any) -> list[str]:
    some = _sequence(value)[: MOST + 1]
    return [value] if isinstance(value, str) else [text for text in some if isinstance(text, str)]


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return f"({type(value).__name__})"
