"""Reasons to allow a call: rules, each matched exactly as it is written, and the mode `acceptEdits`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..config import SANDBOXED
from ..system.drives import disk_path
from .call_input import FILE_KINDS
from .paths import ResolvedPath, glob_protection
from .request import CHANGING, PolicyRequest
from .rulebook import NAME_OF, Rule

UNCOVERED_TOOL = "No rule covers the tool {}."
ACCEPT_EDITS = "acceptEdits"
# The same, and in the sandbox more.
ACCEPTING = (ACCEPT_EDITS, SANDBOXED)
BYPASS = "bypassPermissions"
_HTTP = re.compile(r"https?://[!-~]+\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grant:
    """The rules that allow a call, empty if the mode does; or the `problem` why nothing allows it."""

    rules: tuple[str, ...] = ()
    problem: str | None = None


def grant(request: PolicyRequest) -> Grant:
    """Never looks at rules that deny or ask."""
    name = request.given.tool or ""
    if rule := next((rule for rule in request.context.rules.allow if rule.covers_tool(name)), None):
        return _tool_grant(request, rule)
    if by_kind := _BY_KIND.get(request.call.kind):
        return by_kind(request)
    subject = (
        f"covers the tool {request.given.tool}"
        if request.given.tool
        else f"is about calls of kind {request.call.kind[:40]}"
    )
    return Grant(problem=f"No rule {subject}.")


def is_trusted(request: PolicyRequest) -> bool:
    """Every command is allowed: by the bare rule `Bash`, or by the mode."""
    return request.context.mode == BYPASS or any(rule.text == "Bash" for rule in request.context.rules.allow)


def _tool_grant(request: PolicyRequest, rule: Rule) -> Grant:
    paths = (*request.paths, *request.other_paths)
    problems = (_protected(path, request, changes=request.may_change_files) for path in paths)
    return Grant((rule.text,), next(filter(None, problems), None))


def _command_grant(request: PolicyRequest) -> Grant:
    if not request.given.commands and request.given.tool:
        return Grant(problem=UNCOVERED_TOOL.format(request.given.tool))
    if not request.given.commands:
        return Grant(problem="The call does not say which command it runs.")
    if problem := _outside(request):
        return Grant(problem=problem)
    if is_trusted(request):
        problem = next((line.unclear for line in request.lines if line.unclear and "invisible" in line.unclear), None)
        return Grant(("Bash",), problem)
    rules: dict[str, None] = {}
    for verdict in request.verdicts:
        if verdict.reason:
            return Grant(problem=verdict.reason)
        rules |= dict.fromkeys(f"Bash({text})" for text in verdict.rules)
    writes = _every(request, request.written, "edit")
    return Grant((*rules, *writes.rules), writes.problem)


def _outside(request: PolicyRequest) -> str | None:
    """The folder of a command, and files that it shows as touched, must be in the project."""
    is_inside = request.context.is_inside
    if not is_inside(request.folder, or_root=True):
        return (
            request.folder.problem
            or f"The command would run in `{disk_path(request.folder.written)}`, which is outside the project."
        )
    path = next((path for path in request.paths if not is_inside(path, or_root=True)), None)
    return (path.problem or f"The call names `{path.text}`, which is outside the project.") if path else None


def _address_grant(request: PolicyRequest) -> Grant:
    if not request.given.urls:
        return Grant(problem="The call does not say which address it fetches.")
    for rule in request.context.rules.allow:
        covers = rule.domain.matches if rule.domain else _HTTP.match
        if rule.tool == "WebFetch" and all(map(covers, request.given.urls)):
            return Grant((rule.text,))
    return Grant(problem="No rule covers this address.")


def _file_grant(request: PolicyRequest) -> Grant:
    kind, searched = request.call.kind, request.given.searched if request.call.kind == "search" else ()
    secret = next(
        (glob for glob in searched if glob[:1] != "!" and glob_protection(glob, changes=False, hidden=True)), None
    )
    if secret:
        return Grant(problem=f"The search is for `{secret[:100]}`, which may be protected files.")
    others = (_protected(path, request, changes=request.may_change_files) for path in request.other_paths)
    if problem := next(filter(None, others), None):
        return Grant(problem=problem)
    if kind == "search" and not request.paths:
        return _every(request, (request.folder,), kind)
    if not request.paths:
        return Grant(problem="The call does not say which files it is about.")
    if kind == "move" and not request.has_two_ends:
        return Grant(problem="The move does not name a destination.")
    return _every(request, request.paths, kind)


def _every(request: PolicyRequest, paths: Iterable[ResolvedPath], kind: str) -> Grant:
    """Each path needs its rule, or the mode."""
    rules: dict[str, None] = {}
    for path in paths:
        problem = path.problem or _protected(path, request, changes=kind in CHANGING)
        if problem:
            return Grant(problem=problem)
        rule = next((rule for rule in request.context.rules.allow if _covers(rule, request, path, kind)), None)
        is_accepted = request.context.mode in ACCEPTING and _is_inside(request, path, kind)
        if not rule and not is_accepted:
            return Grant(problem=_no_rule(request, path, kind))
        rules |= {rule.text: None} if rule else {}
    return Grant(tuple(rules))


def _covers(rule: Rule, request: PolicyRequest, path: ResolvedPath, kind: str) -> bool:
    if rule.tool != NAME_OF[kind]:
        return False
    if (rule.path is None or rule.path.base == "root") and not _is_inside(request, path, kind):
        return False
    with_folder = kind not in CHANGING
    glob, context = rule.path, request.context
    return glob is None or all(glob.matches(place, context, with_folder=with_folder) for place in path.places)


def _is_inside(request: PolicyRequest, path: ResolvedPath, kind: str) -> bool:
    return request.context.is_inside(path, or_root=kind not in CHANGING)


def _protected(path: ResolvedPath, request: PolicyRequest, *, changes: bool) -> str | None:
    if changes and (why := request.context.guard(path)):
        return f"`{path.text}` {why}."
    why = request.context.protection(path, changes=changes)
    return f"`{path.text}` {why}, and no rule covers that." if why else None


_ACTS = {"read": "reading", "search": "searching", "edit": "changes to", "delete": "deleting", "move": "moving"}


_BY_KIND = {**dict.fromkeys(FILE_KINDS, _file_grant), "execute": _command_grant, "fetch": _address_grant}


def _no_rule(request: PolicyRequest, path: ResolvedPath, kind: str) -> str:
    inner = request.context.inner(path.written)
    is_inside = _is_inside(request, path, "read")
    link = f", which leads to {disk_path(path.real)}" if path.real and inner is not None and not is_inside else ""
    outside = "" if is_inside else ", outside the project"
    return f"No rule covers {_ACTS[kind]} {'/'.join(inner or ()) or path.text}{link}{outside}."
