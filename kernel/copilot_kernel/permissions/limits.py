"""Rules that deny or ask, read as widely as they can be meant, and what always asks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from .globs import Glob
from .parts import absolute, is_huge
from .request import Request
from .rules import KINDS, Rule
from .sensitive import OURS, plain
from .unseen import LONGEST

_HARMLESS = frozenset({"read", "search", "fetch", "think", "switch_mode"})
MOST = 200
"""Words of a command in which the names of files are looked for; one with more may name any."""
_AROUND = re.compile(r"[\s;|&<>(){}'\"=,:]+")
_TREES = frozenset({"delete", "move"})


def limit(rules: Iterable[Rule], request: Request) -> str:
    """The first of the rules that may mean the request; those for command lines are looked at in `Request.verdicts`."""
    return next((rule.text for rule in rules if _is_meant(rule, request)), "")


def hinted(rules: Iterable[Rule], request: Request) -> str:
    """The first of the rules about files and hosts of which a command names one; whether it touches it, is unclear."""
    lines = [line for line in request.seen.commands if rules]
    return next((rule.text for rule in rules if any(_is_named(rule, line, request) for line in lines)), "")


def ours(request: Request) -> str:
    """In words, which of our own settings and rule files the request would change; empty: none."""
    spots = [*(request.spots if request.changes else ()), *request.written]
    for spot in spots:
        if request.circumstances.is_ours(spot, is_tree=request.call.kind in _TREES):
            return f"{spot.text} holds our own settings"
    names = (OURS, *map(posixpath.normpath, request.circumstances.protected))
    for line in (*request.seen.commands, *request.seen.scripts):
        if named := next((name for name in names if plain(name) in plain(line)), ""):
            return f"the command names {named}, which holds our own settings"
    return ""


def _is_meant(rule: Rule, request: Request) -> bool:
    match rule.tool:
        case "mcp":
            return any(_names_tool(rule, name) for name in request.tools)
        case "Bash":
            return rule.is_bare and (request.call.kind == "execute" or bool(request.seen.commands))
        case "WebFetch":
            return _fetches(rule, request)
        case _:
            return _reaches(rule, request)


def _is_named(rule: Rule, line: str, request: Request) -> bool:
    if rule.domain:
        return rule.domain.host in line.lower()
    if rule.path is None or not rule.path.fixed or rule.path.fixed not in plain(line):
        return False
    words = {word for word in _AROUND.split(line) if word}
    if len(words) > MOST or len(line) > LONGEST or any(is_huge(word.split("/")) for word in words):
        return True
    return any(
        _touches(rule.path, absolute(word, request.folder, request.circumstances.home), request) for word in words
    )


def _names_tool(rule: Rule, name: str) -> bool:
    """Also a bare name, as some agents show it, of whatever server."""
    return rule.covers_tool(name) or (bool(rule.server_tool) and name in _spellings(rule))


def _spellings(rule: Rule) -> Iterator[str]:
    yield rule.server_tool
    yield from (f"{rule.server}{joint}{rule.server_tool}" for joint in ("_", "-", "/", ".", ":", "__"))


def _fetches(rule: Rule, request: Request) -> bool:
    if rule.domain is None:
        return request.call.kind == "fetch"
    return any(rule.domain.touches(url) for url in request.seen.urls)


def _reaches(rule: Rule, request: Request) -> bool:
    """A rule for edits limits whatever may change a file, one for reads whatever may read one."""
    kind = request.call.kind
    spots = list(request.written)
    if rule.tool == "Edit":
        meant = kind not in _HARMLESS and kind != "execute"
        spots += request.spots if meant or request.seen.diffs else ()
    else:
        meant = kind in KINDS[rule.tool] or (rule.tool == "Read" and kind == "search")
        spots = list(request.spots) if meant or kind == "other" else []
    if rule.path is None:
        return kind in KINDS[rule.tool] or (rule.tool == "Edit" and bool(spots) and kind != "other")
    return any(_touches(rule.path, path, request) for spot in spots for path in spot.places)


def _touches(glob: Glob, path: str, request: Request) -> bool:
    is_tree = request.call.kind in _TREES
    return any(glob.touches(path, base, is_tree=is_tree) for base in request.circumstances.bases(glob.base))
