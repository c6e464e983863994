"""Claims of a tool call: command lines, their folder, paths, addresses, the tool of an MCP server.

Agents put these into `rawInput` under many names; this is the one list of them. Nothing here raises.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ..acp.messages import Diff, TextBlock
from ..conversation.model import ToolCall
from .drives import has_drive
from .paths import MAX_PATH
from .shell import CommandLine, parse_line

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

# Members that may stand beside a command without changing what it does.
_HARMLESS = """
description explanation reason goal title mode async detach background call_id callId sessionId session_id shellId
shell_id isBackground is_background run_in_background timeout timeout_ms timeoutMs timeout_secs timeoutSeconds
timeout_seconds turn_id turnId initial_wait initialWait yield_time_ms max_output_tokens outputByteLimit
"""
HARMLESS_NAMES = frozenset(_HARMLESS.split())

# Members that may hold a command too. They are allowed by no rule.
SCRIPT_NAMES = ("script", "shell_command", "shellCommand", "bash", "cmdline")

_TEXTS = """
content contents text old_text new_text oldtext newtext old_str new_str file_text old_string new_string oldstring
newstring new_source insert_text diff patch title description explanation reason
"""
_EDIT_TEXTS = (
    "search replace replacement code code_edit old_code new_code old_content new_content instruction instructions"
)
# Members, in lower case, that hold the content of a file or a description, and no path; the second also in edits.
TEXT_NAMES = frozenset(_TEXTS.split())
EDIT_TEXT_NAMES = TEXT_NAMES.union(_EDIT_TEXTS.split())

_LINES = tuple(name for name in COMMAND_NAMES if name != "commands")
_SHELLS = [
    (shell, option) for shell in ("bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash") for option in ("-c", "-lc")
]

# Copilot CLI asks so, with kind `read`, to leave the folder at all, even when it is about to write there.
GATE = "outside trusted director"

FILE_KINDS = frozenset({"read", "search", "edit", "delete", "move"})
# Members of an input that are examined; a larger one is not understood.
MAX_MEMBERS = 1_000
MAX_PATHS = 100
# In all paths together.
_MAX_FOLDERS = 2_000
# Paths that are examined of an input with too many: enough to deny.
_MAX_SAMPLE = 20

_PATH_ENDS = ("path", "paths", "file", "files", "filename", "uri", "url", "dir", "directory", "folder")
_ENDS = frozenset({"source", "src", "destination", "dest", "target", "targets", "from", "to"})
# Members whose own members may be named like files.
_BY_NAME = frozenset({"changes", "files", "edits"})
_FILE_NAME = re.compile(r"[\w.-]*\.\w+")
_NO_PATHS = HARMLESS_NAMES.union(COMMAND_NAMES, SCRIPT_NAMES, FOLDER_NAMES, SERVER_NAMES, TOOL_NAMES) | {
    "pattern",
    "query",
    "regex",
}
_LABEL = re.compile(r"\A[A-Za-z][A-Za-z ]{0,40}: +")
_URL = re.compile(r"\w+://\S{1,8000}")
_PATCHED = re.compile(r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,4096})$", re.MULTILINE)
_DIFFED = re.compile(r"^(?:--- (.{1,4096})\n\+\+\+ (.{1,4096})|(?:rename|copy) (?:from|to) (.{1,4096}))$", re.MULTILINE)
_DIFF_NAMES = ("diff", "patch", "unified_diff", "unifiedDiff")
_NULL = frozenset({"/dev/null", "a/dev/null", "b/dev/null"})
NOTEBOOK_PREFIX = "copilot-kernel-notebook-"
"""No id of a call of the agent's begins so (`chat/our_calls.py`)."""
_MCP_TOOL = re.compile(r"mcp__(.+?)__(.+)")


@dataclass(frozen=True, slots=True)
class CallInput:
    """Claims of a call. Of a call about files, `paths` are all strings that may be one, as the agent wrote them."""

    # Command lines without repeats; each may be what runs.
    commands: tuple[str, ...]
    scripts: tuple[str, ...]
    folder: str | None
    paths: tuple[str, ...]
    urls: tuple[str, ...]
    tool: str | None
    # It has a diff or a patch.
    changes_files: bool
    is_gate: bool
    # Not everything was examined.
    is_too_large: bool
    # Globs for the names of files in which a search looks.
    searched: tuple[str, ...]
    # A member beside the command that may change what it does, or hold another one.
    unknown_member: str | None
    # Strings that may be paths, at any depth.
    other_paths: tuple[str, ...]
    # Addresses at any depth; only for denying and asking.
    inner_urls: tuple[str, ...]


def read(call: ToolCall) -> CallInput:
    """Everything that the merged call says."""
    every = list(leaves(call.raw_input, EDIT_TEXT_NAMES if call.kind == "edit" else TEXT_NAMES))
    every += ((key, form) for text in described(call) for form in _forms(text) for key in ("", SCRIPT_NAMES[0]))
    texts = tuple(dict.fromkeys(every))
    found, many = _within(MAX_PATHS, _named(call, texts))
    others, more = _within(MAX_PATHS, (value for key, value in texts if key not in _NO_PATHS and _like_path(value)))
    is_too_large = many or more or len(every) > MAX_MEMBERS or len(diffed(call)) > MAX_PATHS
    listed = lines_under("commands", call.raw_input)
    lines = [line for name in _LINES for line in _run_by(name, call.raw_input)]
    return CallInput(
        commands=tuple(dict.fromkeys((*lines, *(_extra(listed, lines) if lines else listed)))),
        scripts=_scripts(call.raw_input, texts),
        folder=folder(call.raw_input) or None,
        paths=found[:_MAX_SAMPLE] if is_too_large else found,
        urls=tuple(dict.fromkeys(_strings(call.raw_input, URL_NAMES))),
        tool=tool(call),
        changes_files=any(isinstance(item, Diff) for item in call.content) or any(patched(call)),
        is_gate=GATE in f"{call.title} {call.meta.get('question')}".lower(),
        is_too_large=is_too_large,
        searched=tuple(_strings(call.raw_input, SEARCH_NAMES)),
        unknown_member=_unknown_member(call.raw_input),
        other_paths=others[:_MAX_SAMPLE] if is_too_large else others,
        inner_urls=tuple(value for _, value in texts if _URL.fullmatch(value))[:MAX_PATHS],
    )


def described(call: ToolCall) -> tuple[str, ...]:
    """Return title and texts of a request that names no call and says nothing in another way; else nothing.

    Any of it may be what is done: it counts for denying and asking.
    """
    texts = [part.text for part in call.content if isinstance(part, TextBlock)]
    is_more = call.call_id or call.locations or call.raw_input is not None or len(texts) < len(call.content)
    return () if is_more else tuple(filter(None, (call.title, *texts)))


def describes(request: ToolCall, call: ToolCall) -> bool:
    """Return True if a request that is only described names the one command, path or address of `call`, or its title.

    Its last words must be just that, perhaps after a label such as "Run: ".
    """
    subjects = (commands(call.raw_input), paths(call), _strings(call.raw_input, URL_NAMES), (call.title,))
    names = {subject[0] for subject in subjects if len(subject) == 1}
    return any(not names.isdisjoint(_forms(text)) for text in described(request)[-1:])


def _forms(text: str) -> set[str]:
    """`text`, and without a label before it."""
    return {form.strip().strip("`") for form in (text, _LABEL.sub("", text.strip(), count=1))} - {""}


def _extra(listed: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The listed commands that no line runs: Copilot lists the line itself, or each of its commands."""
    known = {words for line in lines for words in parse_line(line).commands}
    return [each for each in listed if each not in lines and not _runs_only(known, parse_line(each))]


def _runs_only(known: set[tuple[str, ...]], line: CommandLine) -> bool:
    is_plain = not (line.unclear or line.writes) and bool(line.commands)
    return is_plain and known.issuperset(line.commands)


def _named(call: ToolCall, leaves: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Every path of a call that is about files; of others, those that they call so."""
    named = chain(paths(call), patched(call), (item.path for item in call.content if isinstance(item, Diff)))
    if call.kind in FILE_KINDS:
        named = chain(named, (value for key, value in leaves if _may_be_path(key, value)))
    if call.kind == "move":
        return iter(_ends([*named, *(value for key, value in leaves if _may_be_name(key, value))]))
    return named


def _within(limit: int, paths: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Return as many paths as are examined, without repeats, and whether there are more."""
    kept = tuple(islice(dict.fromkeys(filter(None, paths)), limit + 1))
    is_deep = sum(path.count("/") for path in kept) > _MAX_FOLDERS
    return kept[: _MAX_SAMPLE if is_deep else limit], is_deep or len(kept) > limit


def commands(raw_input: Any) -> tuple[str, ...]:
    """Every command line that the tool was given, without repeats: any of them may be what runs."""
    return tuple(dict.fromkeys(line for name in COMMAND_NAMES for line in lines_under(name, raw_input)))


def _scripts(raw_input: Any, leaves: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return command lines, also those deeper in the input under a name for commands."""
    named, known = _strings(raw_input, SCRIPT_NAMES), set(_strings(raw_input, COMMAND_NAMES))
    deeper = [value for key, value in leaves if key in COMMAND_NAMES + SCRIPT_NAMES and value not in known]
    return tuple(dict.fromkeys((*named, *deeper)))


def _run_by(name: str, raw_input: Any) -> list[str]:
    """Return the lines that a call runs; for a shell that is given one line, that line."""
    value = member(raw_input, name)
    is_shell = isinstance(value, list | tuple) and len(value) == 3 and tuple(value[:2]) in _SHELLS
    return [value[2]] if is_shell and isinstance(value[2], str) else lines_under(name, raw_input)


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
    found = (*(location.path for location in call.locations), *_strings(call.raw_input, PATH_NAMES))
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


def _given_names(call: ToolCall) -> list[str]:
    """Return the names that the agent itself gives the tool: one name, or those of a server and its tool."""
    places = [call.meta, *call.meta.values()]
    pairs = (f"mcp__{server}__{name}" for place in places for server, name in _invoked(place))
    return [call.name, *(name for place in places for name in _strings(place, TOOL_NAMES)), *pairs]


def _invoked(raw: Any) -> list[tuple[str, str]]:
    servers, tools = _strings(raw, SERVER_NAMES)[:9], _strings(raw, TOOL_NAMES)[:9]
    return [(server, name) for server in servers for name in tools]


def _unknown_member(raw_input: Any) -> str | None:
    members = raw_input.items() if isinstance(raw_input, dict) else ()
    strange = next((str(name) for name, value in members if _is_strange(name, value)), None)
    folders = {name: value for name, value in members if name in FOLDER_NAMES and value is not None}
    is_clear = len({str(value) for value in folders.values()}) <= 1
    return strange or (None if is_clear else next(iter(folders)))


def _is_strange(name: object, value: Any) -> bool:
    """A member with an unknown name, or a value of another type than its name says; null does not count."""
    if name in COMMAND_NAMES:
        words = value if isinstance(value, list | tuple) else [value]
        return value is not None and not all(isinstance(word, str) for word in words)
    if name in FOLDER_NAMES:
        return value is not None and not (isinstance(value, str) and value)
    return bool(value) and not (name in HARMLESS_NAMES and isinstance(value, str | int | float))


def leaves(raw: Any, texts: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Strings with the names they stand under, except those in `texts`; at most one more than `MAX_MEMBERS`.

    Names that are paths themselves (as in `{"changes": {"/a": …}}`) count as strings.
    """
    todo, count = [("", raw)], 0
    while todo and count <= MAX_MEMBERS:
        key, value = todo.pop()
        count += 1
        if isinstance(value, dict):
            members = list(islice(value.items(), MAX_MEMBERS + 1))
            todo += [(str(name), inner) for name, inner in members if str(name).lower() not in texts]
            names = [name for name, _ in members if isinstance(name, str)]
            todo += [("path", name) for name in names] if key.lower() in _BY_NAME else []
            todo += [("", name) for name in names if "/" in name or "\\" in name]
        elif isinstance(value, list | tuple):
            todo += [("" if isinstance(inner, dict) else key, inner) for inner in value[: MAX_MEMBERS + 1]]
        elif isinstance(value, str):
            yield key, value
    if todo:
        yield from ([("", "")] * (MAX_MEMBERS + 1))


def _may_be_path(key: str, value: str) -> bool:
    name = key.lower()
    looks = value.startswith(("/", "~", "\\")) or has_drive(value) or "://" in value or ".." in value
    named = name.endswith(_PATH_ENDS) or name in _ENDS or (name == "name" and bool(_FILE_NAME.fullmatch(value)))
    return named or (looks and "*** Begin Patch" not in value)


def _may_be_name(key: str, value: str) -> bool:
    """Return True if a string may be a move's destination, which may stand under any name."""
    return key not in _NO_PATHS and 0 < len(value) <= MAX_PATH and "\n" not in value


def _ends(named: Sequence[str]) -> list[str]:
    """All of them; and a mere name also beside each of the others, for that is what renaming may mean."""
    some = list(dict.fromkeys(named))[: MAX_PATHS + 1]
    folders = {posixpath.dirname(path.replace("\\", "/")) for path in some[:_MAX_SAMPLE]} - {""}
    names = [path for path in some if "/" not in path and "\\" not in path]
    return [*some, *(posixpath.join(folder, name) for name in names[:_MAX_SAMPLE] for folder in sorted(folders))]


def _like_path(value: str) -> bool:
    """An absolute path, also with blanks in it, or one word with a slash or a dot; no address and no number."""
    if not 0 < len(value) <= MAX_PATH or "\n" in value or ("://" in value and not value.startswith("file:")):
        return False
    is_name = not {"/", ".", "\\"}.isdisjoint(value) and " " not in value and "\t" not in value
    return value[0] in "/~" or has_drive(value) or is_name


def _strings(raw_input: Any, names: Iterable[str]) -> list[str]:
    """Return the strings under one of the names: a string or a list of them."""
    values = [raw_input[name] for name in names if name in raw_input] if isinstance(raw_input, dict) else []
    some = chain.from_iterable(
        value[: MAX_MEMBERS + 1] if isinstance(value, list | tuple) else [value] for value in values
    )
    return [text for text in some if isinstance(text, str)]


# -- patches and diffs ----------------------------------------------------------------------------------------------


def diffed(call: ToolCall) -> tuple[str, ...]:
    """The paths that unified diffs in the input name, as far as they are examined."""
    heads = (head for text in _strings(call.raw_input, _DIFF_NAMES) for head in _DIFFED.finditer(text))
    named = (name.split("\t")[0] for head in islice(heads, MAX_PATHS + 1) for name in head.groups() if name)
    return tuple(dict.fromkeys(name for name in named if name not in _NULL))


def patched(call: ToolCall) -> list[str]:
    """The files of a patch in the form that the `apply_patch` of some agents takes."""
    texts = (call.raw_input, *_strings(call.raw_input, ("input", "patch", "patchText", "diff")))
    found = (match[1] for text in texts if isinstance(text, str) for match in _PATCHED.finditer(text))
    return list(islice(found, 2 * MAX_PATHS))


def member(value: Any, name: str) -> Any:
    """A member of an object; None if it is missing or `value` is not an object."""
    return value.get(name) if isinstance(value, dict) else None
