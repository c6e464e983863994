"""Where a tool call says two things at once: what is shown must be what runs, so that it asks, whatever the rules."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..acp.messages import Diff
from ..conversation.model import ToolCall
from . import inputs, patches
from .inputs import FILE_KINDS, Input
from .unseen import LONGEST

_READS = frozenset({"read", "search", "think", "fetch"})
_CHANGES = frozenset({"edit", "delete", "move"})
_NAMES = """
    awk bash cargo cat chmod chown cmake cp curl deno docker echo env git go grep gh java jupyter kubectl ls make
    mkdir mv node npm npx pip pip3 pnpm poetry pytest python python3 rg rm rsync ruff sed sh ssh sudo tar touch uv
    wget yarn zsh
    """
_PROGRAMS = frozenset(_NAMES.split())
"""A title that begins with one of these is a command line; many others are words of English."""
_AS_COMMAND = re.compile(
    r"(?:\$ |!|(?:Bash|Shell|Run(?:ning)?|Execut(?:e|ing)|Terminal):? )?(`+)?(.*?)(`+)?", re.DOTALL
)


def contradiction(call: ToolCall, seen: Input, earlier: ToolCall | None, cwd: str) -> str:
    """In words, what contradicts what; empty: nothing does. `earlier` is the call as it was shown before."""
    if seen.too_much:
        return "its input has more parts than can be looked at"
    tests: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _with_kind(call, seen),
        lambda: _among_commands(call, seen),
        lambda: _with_title(call, seen),
        lambda: _among_paths(call, seen, cwd),
        lambda: _with_earlier(call, seen, earlier, cwd),
    )
    return next((words for test in tests for words in test()), "")


def is_another(now: ToolCall, allowed: ToolCall, cwd: str) -> bool:
    """Whether a call has turned into something else since it was allowed: another command, folder or changed file.

    What was not named then may be named now: agents tell more of a call while it runs.
    """
    after, before = inputs.read(now), inputs.read(allowed)
    if after.lines and after.lines != before.lines:
        return True
    if after.lines and after.folder and _whole(after.folder, cwd) != _whole(before.folder or cwd, cwd):
        return True
    known = _named(allowed, cwd)
    return now.kind in _CHANGES and bool(known) and not _named(now, cwd) <= known


def _named(call: ToolCall, cwd: str) -> set[str]:
    """The files that it names in so many words, and those of its diffs."""
    diffs = (item.path for item in call.content if isinstance(item, Diff))
    return {_whole(path, cwd) for path in (*inputs.paths(call), *diffs)}


def _with_kind(call: ToolCall, seen: Input) -> Iterator[str]:
    kind = call.kind
    if seen.is_gate:
        yield "it asks to leave the trusted folders, which opens more than the kind that it names"
    if kind in FILE_KINDS | _READS | {"execute"} and seen.scripts:
        yield "it holds a script that it does not call a command"
    if seen.commands and seen.aside and not (kind == "other" and seen.tool):
        yield f"it holds {seen.aside[:40]} beside its command, which may change what that does"
    if kind in FILE_KINDS | _READS and seen.commands:
        yield f"it calls itself {kind}, but it holds a command"
    if kind in _READS | {"execute"} and seen.diffs:
        yield f"it calls itself {kind}, but it changes a file"
    if kind == "fetch" and seen.paths:
        yield "it calls itself fetch, but it names a file"
    if kind == "fetch" and len(seen.urls) > 1:
        yield "it names several addresses"


def _among_commands(call: ToolCall, seen: Input) -> Iterator[str]:
    """`commands` may repeat the whole line, or cut it into its parts."""
    if seen.lines == seen.listed:
        return
    line, *others = (*seen.lines, "")
    if len(seen.lines) > 1 and others[0] not in seen.listed:
        yield f"it names two commands, {_quoted(line)} and {_quoted(others[0])}"
    if missing := next((part for part in seen.listed if line and _letters(part) not in _letters(line)), ""):
        yield f"its command is {_quoted(line)}, but its list of commands says {_quoted(missing)}"


def _with_title(call: ToolCall, seen: Input) -> Iterator[str]:
    if call.kind != "execute" or not seen.commands:
        return
    title = _command_in(call.title)
    if title and not any(_is_title_of(title, _spaced(line)) for line in seen.commands):
        yield f"its title says {_quoted(title)}, but its command is {_quoted(seen.commands[0])}"


def _among_paths(call: ToolCall, seen: Input, cwd: str) -> Iterator[str]:
    """A diff's path, a location and the input's path are about the same files."""
    known = {_whole(path, cwd) for path in seen.paths}
    if call.kind in ("edit", "delete", "read") and (strange := _strange_location(call, cwd)):
        yield f"it shows {strange}, which its input does not name"
    for name in patches.headers(call):
        if known and not any(_is_same_file(name, path, cwd) for path in known):
            yield f"its diff is of {name}, which it does not name otherwise"
    if call.kind in FILE_KINDS and re.fullmatch(r"/\S+", call.title) and known and _whole(call.title, cwd) not in known:
        yield f"its title says {call.title}, which its input does not name"
    if call.kind in FILE_KINDS and seen.folder and any(not path.startswith("/") for path in seen.paths):
        yield "it names a folder of its own, so that it is not clear where its path begins"


def _strange_location(call: ToolCall, cwd: str) -> str:
    """Of the shown files, one that the input leaves out, if the input names any."""
    shown = [location.path for location in call.locations]
    shown += [item.path for item in call.content if isinstance(item, Diff)]
    bare = replace(call, locations=(), content=())
    known = {_whole(path, cwd) for path in inputs.read(bare).paths} if shown else set()
    return next((path for path in shown if known and _whole(path, cwd) not in known), "")


def _with_earlier(call: ToolCall, seen: Input, earlier: ToolCall | None, cwd: str) -> Iterator[str]:
    if earlier is None:
        return
    before = inputs.read(earlier)
    if not before.is_gate and "other" not in (earlier.kind, call.kind) and earlier.kind != call.kind:
        yield f"it called itself {earlier.kind} before, and now {call.kind}"
    if before.lines and before.lines != seen.lines:
        yield f"it said {_quoted(before.lines[0])} before, and now {_quoted((*seen.lines, 'no command')[0])}"
    if before.lines and before.folder and seen.folder and before.folder != seen.folder:
        yield f"it was to run in {before.folder} before, and now in {seen.folder}"
    whole = {_whole(path, cwd) for path in before.paths}
    if call.kind in FILE_KINDS and whole and whole != {_whole(path, cwd) for path in seen.paths}:
        yield f"it named {', '.join(before.paths)} before, and now {', '.join(seen.paths) or 'no path'}"
    if before.urls and before.urls != seen.urls:
        yield f"it named {before.urls[0]} before, and now {(*seen.urls, 'no address')[0]}"
    if before.tool and before.tool != seen.tool:
        yield f"it named the tool {before.tool} before, and now {seen.tool or 'none'}"


def _command_in(title: str) -> str:
    """The command line that the title is, or nothing: prose is no contradiction."""
    found = _AS_COMMAND.fullmatch(_spaced(title[:LONGEST]))
    if found is None or not found[2]:
        return ""
    words = found[2].split(" ")
    is_command = words[0] in _PROGRAMS or title.startswith("$ ") or (found[1] and found[3])
    return found[2] if is_command else ""


def _is_title_of(title: str, line: str) -> bool:
    shown = title.removesuffix("…").removesuffix("...")
    return line == title or (shown != title and line.startswith(shown.rstrip()))


def _is_same_file(name: str, path: str, cwd: str) -> bool:
    """A diff's head may have `a/` or `b/` before its path, and leave out the slash or the folder in which it begins."""
    names = {name, re.sub(r"^[abciwo]/", "", name)}
    return any(_whole(each, cwd) == path or _whole("/" + each, cwd) == path for each in names)


def _whole(path: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, path))


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _letters(text: str) -> str:
    return "".join(text.split())


def _quoted(text: str) -> str:
    return f"`{text if len(text) <= 60 else text[:59] + '…'}`"
