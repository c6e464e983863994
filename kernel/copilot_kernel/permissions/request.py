"""A tool call together with what a decision about it depends on, worked out once."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from ..acp.messages import Diff
from ..conversation import inputs
from ..conversation.model import ToolCall
from ..system.drives import policy_path
from . import call_input
from .call_input import FILE_KINDS, CallInput
from .command_rules import CommandVerdict, Words, judge_line, path_pieces, working_folders
from .paths import MAX_PATH, Places, ResolvedPath
from .programs import only_shows
from .rulebook import Rules
from .shell import CommandLine, parse_command

CHANGING = frozenset({"edit", "delete", "move"})
ONLY_WORDS = "The request describes the call only in words."
EXTRA_FIELD = "The call has an extra field, `{}`, that may change what runs."
_READING = frozenset({"read", "search", "think", "fetch"})
_MAX_OPERANDS = 600
_NO_RULES = Rules()


@dataclass(frozen=True, kw_only=True)
class PolicyContext(Places):
    """Everything that a decision depends on besides the call; the caller has looked at the disk before.

    `protected` are absolute paths of files and folders that hold our own rules and settings.
    """

    mode: str = "default"
    rules: Rules = _NO_RULES
    protected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedCommand:
    """One command of a line, and the absolute paths that its words may name. `globs` may become other paths."""

    words: Words
    paths: tuple[str, ...]
    globs: tuple[str, ...]
    only_shows: bool


@dataclass(frozen=True)
class PolicyRequest:
    """`earlier` is the same call as it was shown before it asked; None if it was not."""

    call: ToolCall
    context: PolicyContext
    earlier: ToolCall | None = None

    @cached_property
    def given(self) -> CallInput:
        return call_input.read(self.call)

    @cached_property
    def claimed_tools(self) -> tuple[str, ...]:
        """Names that the tool may have; for denying and asking."""
        return inputs.claimed_tools(self.call)

    @cached_property
    def folder(self) -> ResolvedPath:
        """The folder in which commands start."""
        return self.context.resolve(self.given.folder or self.context.cwd)

    @cached_property
    def paths(self) -> tuple[ResolvedPath, ...]:
        """The paths that the call names."""
        return tuple(map(self.context.resolve, self.given.paths))

    @cached_property
    def other_paths(self) -> tuple[ResolvedPath, ...]:
        return tuple(map(self.context.resolve, self.given.other_paths))

    @property
    def has_two_ends(self) -> bool:
        """True for a move that names at least two files."""
        return len({posixpath.normpath(path.written) for path in self.paths}) > 1

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Every command line in the call."""
        return (*self.given.commands, *self.given.scripts)

    @cached_property
    def lines(self) -> tuple[CommandLine, ...]:
        return tuple(map(parse_command, self.texts))

    @cached_property
    def verdicts(self) -> tuple[CommandVerdict, ...]:
        """Return the verdicts of the allow rules about each line."""
        allow = [rule.command for rule in self.context.rules.allow if rule.command]
        return tuple(judge_line(line, allow, self.context, self.folder.written) for line in self.lines)

    @cached_property
    def written(self) -> tuple[ResolvedPath, ...]:
        """Files that redirections would write."""
        found = (
            self.context.resolve(path, folder)
            for line in self.lines
            for folders in [tuple(working_folders(line, self.context, self.folder.written))]
            for at, path in line.writes
            for folder in (folders[at] if at < len(folders) else (self.folder.written,))
        )
        return tuple(dict.fromkeys(found))

    @cached_property
    def commands(self) -> tuple[ResolvedCommand, ...]:
        """The commands of all lines, as far as they were understood."""
        return tuple(chain.from_iterable(map(self._commands_of, self.lines)))

    def _commands_of(self, line: CommandLine) -> Iterator[ResolvedCommand]:
        for words, folders in zip(
            line.commands, working_folders(line, self.context, self.folder.written), strict=False
        ):
            paths: list[str] = []
            globs: list[str] = []
            for word in words[1:]:
                is_glob = "*" in word or "?" in word or "[" in word
                found = [self.context.absolute(piece, each) for piece in path_pieces(word) for each in folders]
                (globs if is_glob else paths).extend(found)
            implied = folders if _works_on_folder(words) else (self.context.home,) if words == ("cd",) else ()
            named = tuple(dict.fromkeys((*implied, *paths)))
            # What is too long to check may be any file.
            named = named if len(named) + len(globs) <= _MAX_OPERANDS else ("/",)
            yield ResolvedCommand(words, named, tuple(globs[:_MAX_OPERANDS]), only_shows(words, line.globs))

    @property
    def may_change_files(self) -> bool:
        return (
            self.call.kind in CHANGING or self.call.kind not in ("read", "search", "think") or self.given.changes_files
        )


class AsWritten(dict[str, str]):
    """Every path leads where it says."""

    def get(self, key: str, default: object = None) -> str:
        return key


def paths(call: ToolCall, context: PolicyContext, earlier: ToolCall | None = None) -> tuple[str, ...]:
    """Every absolute path for which `PolicyContext.real` must say where it leads, before a decision."""
    request = PolicyRequest(call, replace(context, real=AsWritten()), earlier)
    own = (context.root, context.cwd, context.home, *context.protected, request.folder.written)
    named = map(context.absolute, (*request.given.paths, *request.given.other_paths))
    writes = (path.written for path in request.written)
    found_in = (working_folders(line, request.context, request.folder.written) for line in request.lines)
    folders = chain.from_iterable(chain.from_iterable(found_in))
    has_limits = any(rule.path for rule in (*context.rules.deny, *context.rules.ask))
    operands = (path for command in request.commands for path in command.paths) if has_limits else ()
    found = (path for path in chain(own, named, writes, folders, operands) if path.startswith("/") and "\0" not in path)
    return tuple(dict.fromkeys(path for path in found if len(path) <= 2 * MAX_PATH))


_TREE_PROGRAMS = frozenset({"fd", "rg", "ag", "ack", "grep", "egrep", "zgrep"})
_TREE_SUBCOMMANDS = frozenset({"clean", "stash", "reset", "checkout", "switch", "grep"})


def _works_on_folder(words: Words) -> bool:
    """The command reads or changes whatever is in its folder, although no word says so."""
    name = posixpath.basename(words[0]).lower()
    if name == "find":
        return words[1:2] == () or words[1][:1] in ("-", "(", "!")
    if name in _TREE_PROGRAMS:
        return sum(word[:1] != "-" for word in words[1:]) <= 1
    return "git" in words and not _TREE_SUBCOMMANDS.isdisjoint(words)


# -- contradictions -------------------------------------------------------------------------------------------------


def contradiction(request: PolicyRequest) -> str | None:
    """Why the call is not what it seems to be, so that no rule may allow it."""
    found = chain(_with_kind(request), _with_diffs(request), _with_earlier(request))
    return "The input is too large to check." if request.given.is_too_large else next(found, None)


def is_another(now: ToolCall, allowed: ToolCall, cwd: str) -> bool:
    """Return True if a call has another command, folder or changed file than when it was allowed.

    What was not named then may be named now: agents add details while a call runs.
    """
    after, before = call_input.read(now), call_input.read(allowed)
    is_moved = bool(after.folder) and _whole(after.folder or "", cwd) != _whole(before.folder or cwd, cwd)
    known = _named_files(allowed, cwd)
    is_elsewhere = now.kind in CHANGING and bool(known) and not _named_files(now, cwd) <= known
    return is_elsewhere or (bool(after.commands) and (is_moved or after.commands != before.commands))


def _named_files(call: ToolCall, cwd: str) -> set[str]:
    diffs = (item.path for item in call.content if isinstance(item, Diff))
    return {_whole(path, cwd) for path in (*inputs.paths(call), *diffs)}


def _with_kind(request: PolicyRequest) -> Iterator[str]:
    kind, given = request.call.kind, request.given
    is_known = kind in FILE_KINDS | _READING | {"execute"}
    has_own_folder = given.folder and any(not policy_path(path).startswith("/") for path in given.paths)
    signs = (
        (call_input.described(request.call), ONLY_WORDS),
        (given.is_gate, "The agent asks for access outside your project: more than this call names."),
        (is_known and given.scripts, "The input contains a script that is not declared as a command."),
        (
            given.commands and given.unknown_member and not (kind == "other" and given.tool),
            EXTRA_FIELD.format((given.unknown_member or "")[:40]),
        ),
        (kind in FILE_KINDS | _READING and given.commands, f"The call is of kind {kind}, but it contains a command."),
        (
            kind in _READING | {"execute"} and given.changes_files,
            f"The call is of kind {kind}, but it changes a file.",
        ),
        (kind == "fetch" and (given.paths or len(given.urls) > 1), "The call names more than one address."),
        (kind in FILE_KINDS and has_own_folder, "The call names a folder of its own, so its paths are not clear."),
    )
    yield from (sign for is_given, sign in signs if is_given)


def _with_diffs(request: PolicyRequest) -> Iterator[str]:
    """A diff's header may have `a/` or `b/` before its path, and leave out where it begins."""
    cwd = request.context.cwd
    known = {_whole(path, cwd) for path in request.given.paths}
    for name in call_input.diffed(request.call) if known else ():
        names = {name, name[2:] if name[1:2] == "/" else name}
        if known.isdisjoint(_whole(start + each, cwd) for each in names for start in ("", "/")):
            yield f"The diff is of `{name}`, which the call does not name otherwise."


def _with_earlier(request: PolicyRequest) -> Iterator[str]:
    call, given, earlier, cwd = request.call, request.given, request.earlier, request.context.cwd
    if earlier is None:
        return
    before = call_input.read(earlier)
    was = {_whole(path, cwd) for path in before.paths}
    is_moved = bool(before.folder and given.folder and before.folder != given.folder)
    changes = {
        "kind": not before.is_gate and "other" not in (earlier.kind, call.kind) and earlier.kind != call.kind,
        "command": bool(before.commands) and (before.commands != given.commands or is_moved),
        "path": call.kind in FILE_KINDS and bool(was) and was != {_whole(path, cwd) for path in given.paths},
        "address": bool(before.urls) and before.urls != given.urls,
        "tool": before.tool not in (None, given.tool),
    }
    yield from (
        f"The {part} of the call has changed since it was shown." for part, is_changed in changes.items() if is_changed
    )


def _whole(path: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(policy_path(cwd), policy_path(path)))
