"""Rules that deny or ask, and our own settings: matched more widely than rules that allow.

A list of denied commands is not a sandbox: a program that has another name, or reads its orders from a file, passes. It
is there to catch what an agent does by habit.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from .call_input import FILE_KINDS
from .command_rules import CommandPattern, Words
from .paths import SETTINGS_FILE, ResolvedPath, is_generic, name_fits, plain_name, plain_parts
from .patterns import Domain, Glob
from .programs import is_option, program_name, starts_programs, wrapper_length
from .request import PolicyRequest
from .rulebook import KINDS_OF, Rule

_HARMLESS = frozenset({"read", "search", "fetch", "think", "switch_mode"})
_TREES = frozenset({"delete", "move"})
# In the name of a tool: with a folder, everything in it goes.
_MOVING = re.compile(r"delete|remove|move|rename|copy|unlink|trash|rmdir|replace", re.IGNORECASE)
_TOKEN = re.compile(r"[\w.+-]+")
# What a tool may be called in a title; that of a call about files may be a path.
_NAME, _NAME_OR_PATH = re.compile(r"[\w:-]+"), re.compile(r"[\w.:/-]+")
# The home folder itself.
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\})(?![/.]*\w)")
_QUOTES = str.maketrans("", "", "'\"\\")


def matches(rule: Rule, request: PolicyRequest) -> bool:
    """Return True if the rule certainly matches the call."""
    kind, given = request.call.kind, request.given
    match rule.tool:
        case "mcp":
            return _matches_tool(rule, request)
        case "Bash" if rule.command:
            return any(_matches_command(rule.command, words) for words in _simple_commands(request))
        case "Bash":
            return kind == "execute" or bool(given.commands)
        case "WebFetch" if rule.domain:
            return any(map(rule.domain.touches, (*given.urls, *given.inner_urls)))
        case "WebFetch":
            return kind == "fetch"
    paths = _changed_paths(request) if rule.tool == "Edit" else _read_paths(rule, request)
    if rule.path is None:
        return kind in KINDS_OF[rule.tool] or (rule.tool == "Edit" and bool(paths) and kind != "other")
    return any(_touches(rule.path, path, request) for path in paths)


def possible_rule(rules: Iterable[Rule], request: PolicyRequest) -> tuple[Rule, str] | None:
    """The first rule that may match the call, with the reason."""
    found = ((rule, reason) for rule in rules if (reason := _may_match(rule, request)))
    return next(found, None)


def changed_settings(request: PolicyRequest) -> str | None:
    """Return which of our own settings the call would change, as far as is known."""
    if request.given.is_too_large and request.may_change_files:
        return "among more files than can be checked"
    real = request.context.real
    own = [plain_parts(each) for path in request.context.protected for each in {path, real.get(path, path)}]
    is_tree = request.call.kind in _TREES or any(map(_MOVING.search, request.claimed_tools))
    named = (*request.written, *((*request.paths, *request.other_paths) if request.may_change_files else ()))
    paths = [(place, is_tree) for path in named for place in path.places]
    changing = [] if all(command.only_shows for command in request.commands) else request.commands
    paths += [(path, bool(changing)) for command in request.commands for path in command.paths]
    found: list[str] = [path for path, is_tree in paths if _is_own(path, own, is_tree=is_tree)]
    found += [glob for command in changing for glob in command.globs if _may_become_own(glob, own)]
    return found[0] if found else _mentioned_settings(request, own)


Parts = tuple[str, ...]


def _is_own(path: str, own: Sequence[Parts], *, is_tree: bool) -> bool:
    """`path` is one of our files, or lies in one; with `is_tree`, also if it holds one."""
    parts = plain_parts(path)
    is_near = any(parts[: len(each)] == each or (is_tree and each[: len(parts)] == parts) for each in own)
    return is_near or SETTINGS_FILE in parts


def _may_become_own(glob: str, own: Sequence[Parts]) -> bool:
    """A shell may replace it by one of our files, or by a folder that holds one."""
    wanted = plain_parts(glob)
    is_named = not is_generic(wanted[-1]) and _may_be(wanted[-1], SETTINGS_FILE)
    return is_named or any(all(map(_may_be, wanted, parts)) for parts in own)


def _may_be(glob: str, name: str) -> bool:
    """A wildcard does not match a leading dot."""
    return name_fits(name, glob) and (name[0] != "." or glob[0] == ".")


def _mentioned_settings(request: PolicyRequest, own: Sequence[Parts]) -> str | None:
    """Return settings named in a line; if it was not understood, or is for another program, also by their folder's
    name.
    """
    names = {name for parts in own for name in (*parts[-2:], "/".join(parts[-2:])) if name[0] == "." or "/" in name}
    for line, text in zip(request.lines, request.texts, strict=True):
        if line.unclear and (home := _HOME.search(text)):
            return home[0]
        plain = plain_name(text.translate(_QUOTES))
        is_hidden = line.unclear or any(starts_programs(words) for words in line.commands)
        hints: list[str] = [SETTINGS_FILE, *(sorted({*names, "copilot_kernel"}) if is_hidden else ())]
        if found := next((hint for hint in hints if hint in plain), None):
            return found
    return None


# -- certain matches ------------------------------------------------------------------------------------------------


def _matches_tool(rule: Rule, request: PolicyRequest) -> bool:
    """Match a tool also by its bare name, as some agents show it, and however they join it with the server's."""
    form = _NAME if request.call.kind in FILE_KINDS else _NAME_OR_PATH
    names = [name for name in request.claimed_tools if form.fullmatch(name)]
    joined = [_joined(name).removeprefix("mcp_") for name in names if not name.startswith("mcp__")]
    if rule.server_tool:
        is_named = rule.server_tool in names or _joined(f"{rule.server}_{rule.server_tool}") in joined
    else:
        is_named = any(name.startswith(_joined(f"{rule.server}_")) for name in joined)
    return is_named or any(map(rule.covers_tool, names))


def _joined(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name).lower()


def _simple_commands(request: PolicyRequest) -> Iterator[Words]:
    """The commands, also without plain wrappers before them."""
    for command in request.commands:
        yield command.words
        if length := wrapper_length(command.words):
            yield command.words[length:]


def _matches_command(pattern: CommandPattern, words: Words) -> bool:
    """The same program, and the other words of the rule in order; short flags as a set of letters."""
    if not pattern.words:
        return True
    program, *rest = (word for word in pattern.words if word is not None)
    if pattern.words[0] is not None and program_name(program) != program_name(words[0]):
        return False
    options = [word for word in rest if word[:1] == "-"]
    following = iter(posixpath.normpath(word) for word in words[1:])
    in_order = all(posixpath.normpath(word) in following for word in rest if word[:1] != "-")
    return in_order and all(_has_option(option, words[1:]) for option in options)


def _has_option(wanted: str, words: Sequence[str]) -> bool:
    if wanted[:2] == "--":
        return any(word[:2] == "--" and is_option(word, wanted.partition("=")[0]) for word in words)
    letters = {letter for word in words if re.fullmatch(r"-\w+", word) for letter in word}
    return wanted in words or letters.issuperset(wanted)


def _changed_paths(request: PolicyRequest) -> list[ResolvedPath]:
    kind = request.call.kind
    is_change = (kind not in _HARMLESS and kind != "execute") or request.given.changes_files
    return [*request.written, *((*request.paths, *request.other_paths) if is_change else ())]


def _read_paths(rule: Rule, request: PolicyRequest) -> list[ResolvedPath]:
    kind = request.call.kind
    is_known = kind in _HARMLESS or any(kind in kinds for kinds in KINDS_OF.values())
    is_meant = kind in KINDS_OF[rule.tool] or (rule.tool == "Read" and kind == "search")
    return [*request.paths, *request.other_paths] if is_meant or not is_known else []


def _touches(glob: Glob, path: ResolvedPath, request: PolicyRequest) -> bool:
    is_tree, context = request.call.kind in _TREES, request.context
    return any(glob.touches(place, context) or (is_tree and glob.is_under(place, context)) for place in path.places)


# -- possible matches -----------------------------------------------------------------------------------------------


def _may_match(rule: Rule, request: PolicyRequest) -> str | None:
    if rule.command and (token := _mentioned(rule.command, request)):
        return f"The line mentions `{token}`, which the rule {rule.text} covers."
    if rule.domain and _names_host(rule.domain, request):
        return f"The command names a host that the rule {rule.text} covers."
    if rule.path and (path := _possible_path(rule.path, request, may_search=rule.tool in ("Read", "Grep"))):
        return f"`{path[:100]}` may be a file that the rule {rule.text} covers."
    return None


def _mentioned(pattern: CommandPattern, request: PolicyRequest) -> str | None:
    """The program's name as a token anywhere but where a command begins."""
    if not pattern.words or pattern.words[0] is None:
        return None
    wanted = program_name(pattern.words[0])
    for line, text in zip(request.lines, request.texts, strict=True):
        texts = [text] if line.unclear else [word for words in line.commands for word in words[1:]]
        tokens = (token for each in texts for token in _TOKEN.findall(each.translate(_QUOTES)))
        if any(program_name(token) == wanted for token in tokens):
            return wanted
    return None


def _names_host(domain: Domain, request: PolicyRequest) -> bool:
    words = [word for command in request.commands for word in command.words[1:]]
    texts = [text for line, text in zip(request.lines, request.texts, strict=True) if line.unclear]
    is_expanded = any("://" in word and re.search(r"[\[{]", word) for word in words)
    return is_expanded or any(domain.host in word.lower() or domain.touches(word) for word in (*words, *texts))


def _possible_path(glob: Glob, request: PolicyRequest, *, may_search: bool) -> str | None:
    context = request.context
    if may_search and request.call.kind == "search" and (found := _searched(glob, request)):
        return found
    if other := next((path for path in request.other_paths if _touches(glob, path, request)), None):
        return other.text
    for command in request.commands:
        for path in command.paths:
            places = {path, context.real.get(path, path)}
            if any(glob.touches(each, context) or glob.is_under(each, context) for each in places):
                return path
        if found := next((each for each in command.globs if glob.may_match(each, context)), None):
            return found
    return None


def _searched(glob: Glob, request: PolicyRequest) -> str | None:
    """A search shows everything in its folder, unless it is limited to other names."""
    context, last = request.context, glob.parts[-1]
    names = [
        plain_name(name.rpartition("/")[2]) for name in request.given.searched if re.fullmatch(r"[\w*.?/-]+", name)
    ]
    may_meet = any(
        ("*" in last and "*" in name) or fnmatchcase(last, name) or fnmatchcase(name, last) for name in names
    )
    if len(names) == len(request.given.searched) > 0 and "." in last and not may_meet:
        return None
    places = (place for path in request.paths or (request.folder,) for place in path.places)
    found = (each for each in places if glob.is_under(each, context, at_any_depth=True) or glob.touches(each, context))
    return next(found, None)
