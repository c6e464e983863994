"""Claims of a tool call that the policy examines: all that may be a command line, a path, an address, or a tool.

Nothing here raises.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ..acp.messages import Diff, TextBlock
from ..conversation.inputs import (
    COMMAND_NAMES,
    FOLDER_NAMES,
    MAX_MEMBERS,
    MAX_PATHS,
    SERVER_NAMES,
    TOOL_NAMES,
    commands,
    folder,
    lines_under,
    member,
    patched,
    paths,
    strings,
    tool,
)
from ..conversation.model import ToolCall
from ..system.drives import has_drive
from .paths import MAX_PATH
from .shell import CommandLine, parse_line

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
_DIFFED = re.compile(r"^(?:--- (.{1,4096})\n\+\+\+ (.{1,4096})|(?:rename|copy) (?:from|to) (.{1,4096}))$", re.MULTILINE)
_DIFF_NAMES = ("diff", "patch", "unified_diff", "unifiedDiff")
_NULL = frozenset({"/dev/null", "a/dev/null", "b/dev/null"})


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
        urls=tuple(dict.fromkeys(strings(call.raw_input, URL_NAMES))),
        tool=tool(call),
        changes_files=any(isinstance(item, Diff) for item in call.content) or any(patched(call)),
        is_gate=GATE in f"{call.title} {call.meta.get('question')}".lower(),
        is_too_large=is_too_large,
        searched=tuple(strings(call.raw_input, SEARCH_NAMES)),
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
    subjects = (commands(call.raw_input), paths(call), strings(call.raw_input, URL_NAMES), (call.title,))
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


def _scripts(raw_input: Any, leaves: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return command lines, also those deeper in the input under a name for commands."""
    named, known = strings(raw_input, SCRIPT_NAMES), set(strings(raw_input, COMMAND_NAMES))
    deeper = [value for key, value in leaves if key in COMMAND_NAMES + SCRIPT_NAMES and value not in known]
    return tuple(dict.fromkeys((*named, *deeper)))


def _run_by(name: str, raw_input: Any) -> list[str]:
    """Return the lines that a call runs; for a shell that is given one line, that line."""
    value = member(raw_input, name)
    is_shell = isinstance(value, list | tuple) and len(value) == 3 and tuple(value[:2]) in _SHELLS
    return [value[2]] if is_shell and isinstance(value[2], str) else lines_under(name, raw_input)


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


def diffed(call: ToolCall) -> tuple[str, ...]:
    """The paths that unified diffs in the input name, as far as they are examined."""
    heads = (head for text in strings(call.raw_input, _DIFF_NAMES) for head in _DIFFED.finditer(text))
    named = (name.split("\t")[0] for head in islice(heads, MAX_PATHS + 1) for name in head.groups() if name)
    return tuple(dict.fromkeys(name for name in named if name not in _NULL))
