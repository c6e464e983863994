"""Rules that deny or ask, read as widely as they can be meant, and what always asks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from .globs import Glob
from .naming import Named
from .overlap import may_be_ours, may_name_host, may_touch
from .request import Request
from .rules import KINDS, Rule
from .sensitive import OURS, plain

_HARMLESS = frozenset({"read", "search", "fetch", "think", "switch_mode"})
_TREES = frozenset({"delete", "move"})
_MOVING = re.compile(r"delete|remove|move|rename|copy|unlink|trash|rmdir|replace", re.IGNORECASE)
"""In the name of a tool: with a folder, all that is in it goes."""


def limit(rules: Iterable[Rule], request: Request) -> str:
    """The first of the rules that may mean the request; those for command lines are looked at in `Request.verdicts`."""
    return next((rule.text for rule in rules if _is_meant(rule, request)), "")


def hinted(rules: Iterable[Rule], request: Request) -> str:
    """The first of the rules about files and hosts of which a command names one; whether it touches it, is unclear."""
    lines = request.named if rules else ()
    spots = (*request.inner, *request.vague)
    paths = [path for spot in spots for path in spot.places] if any(rule.path for rule in rules) else []
    found = (
        rule.text
        for rule in rules
        if any(_is_named(rule, line, request) for line in lines)
        or (rule.path and any(_touches(rule.path, path, request) for path in paths))
    )
    return next(found, "")


def ours(request: Request) -> str:
    """In words, which of our own settings and rule files the request would change; empty: none."""
    spots = [*((*request.spots, *request.inner, *request.vague) if request.changes else ()), *request.written]
    is_tree = request.call.kind in _TREES or any(map(_MOVING.search, request.tools))
    if spot := next((spot for spot in spots if request.circumstances.is_ours(spot, is_tree=is_tree)), None):
        return f"{spot.text} holds our own settings"
    if request.seen.too_much and request.changes:
        return "its input has more parts than can be looked at, among them perhaps our own settings"
    name = next(filter(None, (_our_name(line, request) for line in request.named)), "")
    return f"the command names {name}, which holds our own settings" if name else ""


def _our_name(line: Named, request: Request) -> str:
    """By its name anywhere in the line, or by what a word of the line may become, hold or fill."""
    around = request.circumstances
    names = (OURS, *map(posixpath.normpath, around.protected))
    if spelled := next((name for name in names if any(plain(name) in text for text in line.texts)), ""):
        return spelled
    known = (*around.protected, *(around.real.get(path, path) for path in around.protected))
    if not line.is_complete and (near := next((path for path in known if _is_near(path, line)), "")):
        return f"the folder of {near}"
    return next((path for place in line.places if (path := may_be_ours(place, known))), "")


def _is_near(path: str, line: Named) -> bool:
    """Of a line with more words than can be looked at: whether it names the folder of the file."""
    folder = posixpath.dirname(posixpath.normpath(path))
    last = posixpath.basename(folder)
    tail = last if last.startswith(".") else "/".join(folder.split("/")[-2:])
    return any(plain(tail) in text for text in line.texts)


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


def _is_named(rule: Rule, line: Named, request: Request) -> bool:
    if rule.domain:
        texts = any(rule.domain.host in text for text in line.texts)
        return texts or any(may_name_host(rule.domain, word) for word in line.words)
    if rule.path is None:
        return False
    if not line.is_complete:
        return any(rule.path.fixed in text for text in (*line.texts, plain(request.folder)))
    bases = request.circumstances.bases(rule.path.base)
    return any(may_touch(rule.path, rule.tool, place, base) for place in line.places for base in bases)


def _names_tool(rule: Rule, name: str) -> bool:
    """Also a bare name, as some agents show it, of whatever server."""
    return rule.covers_tool(name) or (bool(rule.server_tool) and name in _spellings(rule))


def _spellings(rule: Rule) -> Iterator[str]:
    yield rule.server_tool
    yield from (f"{rule.server}{joint}{rule.server_tool}" for joint in ("_", "-", "/", ".", ":", "__"))


def _fetches(rule: Rule, request: Request) -> bool:
    if rule.domain is None:
        return request.call.kind == "fetch"
    return any(rule.domain.touches(url) for url in (*request.seen.urls, *request.seen.inner_urls))


def _reaches(rule: Rule, request: Request) -> bool:
    """A rule for edits limits whatever may change a file, one for reads whatever may read one."""
    kind = request.call.kind
    spots = list(request.written)
    if rule.tool == "Edit":
        meant = kind not in _HARMLESS and kind != "execute"
        spots += (*request.spots, *request.inner) if meant or request.seen.diffs else ()
    else:
        meant = kind in KINDS[rule.tool] or (rule.tool == "Read" and kind == "search")
        spots = [*request.spots, *request.inner] if meant or _is_unknown(kind) else []
    if rule.path is None:
        return kind in KINDS[rule.tool] or (rule.tool == "Edit" and bool(spots) and kind != "other")
    return any(_touches(rule.path, path, request) for spot in spots for path in spot.places)


def _is_unknown(kind: str) -> bool:
    return kind not in _HARMLESS and not any(kind in kinds for kinds in KINDS.values())


def _touches(glob: Glob, path: str, request: Request) -> bool:
    is_tree = request.call.kind in _TREES
    return any(glob.touches(path, base, is_tree=is_tree) for base in request.circumstances.bases(glob.base))
