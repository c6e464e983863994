"""What allows a request: rules, each read as narrowly as it is written, and the mode acceptEdits."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from . import searches, shell
from .circumstances import Spot
from .programs import unwrap
from .request import CHANGING, Request
from .rules import KINDS, Rule

ACCEPT_EDITS = "acceptEdits"
_MOVES = ("cd", "pushd", "popd")
_CHANGES_FOLDER = re.compile(r"\b(cd|pushd|popd)\b")
_NAMES = {kind: name for name, kinds in KINDS.items() for kind in kinds}


@dataclass(frozen=True, slots=True)
class Grant:
    """`by` the rules or, if empty, the mode; or `problem`, in words, why nothing allows it."""

    by: tuple[str, ...] = ()
    problem: str = ""


def granted(request: Request) -> Grant:
    """By the rules and the mode together. Never looks at what denies or asks."""
    if request.tools and (rule := _for_tool(request)):
        return _with_paths_left_alone(request, rule)
    match request.call.kind:
        case "execute":
            return _commands(request)
        case "fetch":
            return _addresses(request)
        case "read" | "search" | "edit" | "delete" | "move":
            return _files(request)
    return Grant(problem=_no_rule_for(request))


def _for_tool(request: Request) -> Rule | None:
    name = request.seen.tool
    return next((rule for rule in request.circumstances.rules.allow if rule.covers_tool(name)), None)


def _with_paths_left_alone(request: Request, rule: Rule) -> Grant:
    spots = (*request.spots, *request.inner, *request.vague)
    sensitive = next(filter(None, (_sensitive(spot, request, request.changes) for spot in spots)), "")
    return Grant(problem=sensitive) if sensitive else Grant((rule.text,))


def _commands(request: Request) -> Grant:
    if not request.seen.commands:
        return Grant(problem="it does not say which command it runs")
    if problem := _outside(request):
        return Grant(problem=problem)
    by: dict[str, None] = {}
    for verdict in request.verdicts:
        if verdict.outcome != "allow":
            return Grant(problem=verdict.reason)
        by |= dict.fromkeys(_as_rule(text) for text in verdict.rules)
    trusted = "Bash" in by
    if sensitive := next(filter(None, (_sensitive(spot, request, True) for spot in request.written)), ""):
        return Grant(problem=sensitive)
    if not trusted and (strange := _elsewhere(request)):
        return Grant(problem=strange)
    writes = Grant() if trusted else _all(request, request.written, "edit")
    if not trusted and request.written and any(map(_CHANGES_FOLDER.search, request.seen.commands)):
        return Grant(problem="it writes after it changed its folder, so that it is not clear where")
    return writes if writes.problem else Grant((*by, *writes.by))


def _elsewhere(request: Request) -> str:
    """Git runs programs that the settings of the folder name in which it starts; the project's own are the user's."""
    around = request.circumstances
    homes = {around.key(path) for path in (around.root, around.real_root, around.cwd) if path}
    words = [unwrap(part) for line in request.seen.commands for part in shell.read(line).parts]
    if not any(posixpath.basename(each[0]) == "git" for each in words if each):
        return ""
    strange = posixpath.normpath(request.folder) not in homes or request.place.real not in homes
    moves = any(each[0] in _MOVES and each != ("cd", request.folder) for each in words if each)
    return "git runs what the settings of another folder say" if strange or moves else ""


def _as_rule(text: str) -> str:
    return text if text == "Bash" else f"Bash({text})"


def _outside(request: Request) -> str:
    """Where a command starts, and what it shows as touched, must be in the project."""
    inside = request.circumstances.is_inside
    if not inside(request.place, or_root=True):
        return request.place.problem or f"it would run in {request.folder}, which is outside of the project"
    spot = next((spot for spot in request.spots if not inside(spot, or_root=True)), None)
    return "" if spot is None else spot.problem or f"it names {spot.text}, which is outside of the project"


def _addresses(request: Request) -> Grant:
    if not request.seen.urls:
        return Grant(problem="it does not say which address it fetches")
    for rule in request.circumstances.rules.allow:
        if rule.tool == "WebFetch" and all(_covers_url(rule, url) for url in request.seen.urls):
            return Grant((rule.text,))
    return Grant(problem="no rule allows this address")


def _covers_url(rule: Rule, url: str) -> bool:
    if rule.domain is None:
        return bool(re.fullmatch(r"https?://[!-~]+", url, re.IGNORECASE))
    return rule.domain.matches(url)


def _files(request: Request) -> Grant:
    kind = request.call.kind
    spots: Iterable[Spot] = request.spots
    if pattern := searches.secret(request):
        return Grant(problem=f"it searches {pattern[:100]}, which may hold secrets, and no rule allows that")
    if kind == "search" and not request.seen.paths:
        spots = (request.place,)
    elif not request.seen.paths:
        return Grant(problem="it does not say which files it is about")
    elif kind == "move" and not request.has_ends:
        return Grant(problem="it names one file only, so that it is not clear where it goes")
    return _all(request, spots, kind)


def _all(request: Request, spots: Iterable[Spot], kind: str) -> Grant:
    """Each path needs its rule, or the mode."""
    by: dict[str, None] = {}
    for spot in spots:
        problem = spot.problem or _sensitive(spot, request, kind in CHANGING)
        if problem:
            return Grant(problem=problem)
        allowed = _allowed_by(request, spot, kind)
        if allowed is None:
            return Grant(problem=_no_rule(request, spot, kind))
        by |= dict.fromkeys(allowed)
    return Grant(tuple(by))


def _allowed_by(request: Request, spot: Spot, kind: str) -> tuple[str, ...] | None:
    rules = request.circumstances.rules.allow
    rule = next((rule for rule in rules if rule.tool == _NAMES[kind] and _covers(rule, request, spot, kind)), None)
    if rule:
        return (rule.text,)
    may_edit = request.circumstances.mode == ACCEPT_EDITS
    return () if may_edit and _is_inside(request, spot, kind) else None


def _covers(rule: Rule, request: Request, spot: Spot, kind: str) -> bool:
    if rule.path is None:
        return _is_inside(request, spot, kind)
    with_folder = kind not in CHANGING
    bases = request.circumstances.bases(rule.path.base)
    if rule.path.base == "root" and not _is_inside(request, spot, kind):
        return False
    return all(any(rule.path.matches(path, base, with_folder=with_folder) for base in bases) for path in spot.places)


def _no_rule_for(request: Request) -> str:
    if request.seen.tool:
        return f"no rule allows the tool {request.seen.tool}"
    return f"it is of kind {request.call.kind[:40]}, which no rule is about"


def _is_inside(request: Request, spot: Spot, kind: str) -> bool:
    return request.circumstances.is_inside(spot, or_root=kind not in CHANGING)


def _sensitive(spot: Spot, request: Request, changes: bool) -> str:
    why = request.circumstances.sensitive(spot, changes=changes)
    return f"{spot.text} {why}, and no rule allows that" if why else ""


def _no_rule(request: Request, spot: Spot, kind: str) -> str:
    if not _is_inside(request, spot, kind) and request.circumstances.is_inside(spot, or_root=True):
        return f"{spot.text} is the project's folder itself"
    written_inside = request.circumstances.is_inside(Spot(spot.text, spot.written, spot.written))
    if not _is_inside(request, spot, kind) and written_inside:
        return f"{spot.text} leads to {spot.real}, which is outside of the project"
    where = "" if _is_inside(request, spot, kind) else ", which is outside of the project"
    return f"no rule allows {_VERBS[kind]} {spot.text}{where}"


_VERBS = {"read": "reading", "search": "searching", "edit": "changing", "delete": "deleting", "move": "moving"}
