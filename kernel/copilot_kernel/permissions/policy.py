"""The decision about a permission request: a pure function of the call, the rules, the mode and its paths.

Deny goes before ask, ask before allow, and whatever is unclear prompts. Only an option of kind `allow_once` is ever
chosen for a yes: never a standing grant, and never by position, name or id.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..acp.messages import Option
from ..conversation.model import ToolCall
from .commands import compile_command
from .deny import changed_settings, matching_rule, possible_rule
from .grants import ACCEPT_EDITS, BYPASS, grant, is_trusted
from .paths import below
from .patterns import host_of
from .programs import starts_programs
from .question import Question
from .request import PolicyContext, Request, contradiction, wanted_paths
from .rulebook import NAME_OF, Rule, Rules, parse

__all__ = ["BYPASS", "PLAN", "Decision", "PolicyContext", "Rules", "decide", "paths", "reject"]

PLAN = "plan"
# Characters of a command for which a rule is worth saving.
MAX_SUGGESTED = 1_000

Outcome = Literal["allow", "ask", "reject"]
DecidedBy = Literal["rule", "mode"]

paths = wanted_paths


@dataclass(frozen=True, slots=True)
class Decision:
    """With outcome `reject`, `option` is None if the agent offers no way to say no; only `cancelled` is left then."""

    outcome: Outcome
    option: Option | None
    by: DecidedBy
    # One sentence for the user.
    reason: str
    # The rule that decided; of several that did so together, joined by "and".
    rule: str | None = None
    # Rules of which each alone, added to `allow`, would have allowed the call. Only if the outcome is `ask`.
    would: tuple[str, ...] = ()
    # The narrowest of them, unless it allows everything.
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class _Finding:
    outcome: Outcome
    by: DecidedBy
    reason: str
    rule: str | None = None
    # Another rule that allows could have changed it.
    is_open: bool = False


def decide(
    call: ToolCall, options: Sequence[Option], context: PolicyContext, earlier: ToolCall | None = None
) -> Decision:
    """About the merged `call`. `earlier` is the same call as it was shown before it asked. Never raises."""
    request = Request(call, context, earlier)
    found = _find(request)
    if found.outcome == "reject":
        return Decision("reject", reject(options), found.by, found.reason, found.rule)
    once = _first(options, "allow_once")
    if found.outcome == "allow" and once:
        return Decision("allow", once, found.by, found.reason, found.rule)
    if found.outcome == "allow":
        reason = f"{found.reason} But the agent offers no answer that allows it only once."
        return Decision("ask", None, found.by, reason, found.rule)
    would = tuple(rule for rule in _candidates(request) if _would_allow(rule, request)) if found.is_open else ()
    narrow = next((rule for rule in would if not parse(rule).warning), None)
    return Decision("ask", None, found.by, found.reason, found.rule, would, narrow)


def reject(options: Sequence[Option]) -> Option | None:
    """How to say no when nobody can answer; None if only `cancelled` is left."""
    return _first(options, "reject_once") or _first(options, "reject_always")


def _first(options: Sequence[Option], kind: str) -> Option | None:
    return next((option for option in options if option.kind == kind), None)


def _find(request: Request) -> _Finding:
    mode, rules = request.context.mode, request.context.rules
    if mode == PLAN:
        return _Finding("reject", "mode", "The mode is plan: nothing is changed or run.")
    if denied := matching_rule(rules.deny, request):
        return _Finding("reject", "rule", f"The rule {denied.text} denies it.", denied.text)
    if settings := changed_settings(request):
        return _Finding("ask", "mode", f"It may change our own settings ({settings}), which always prompts.")
    if asked := matching_rule(rules.ask, request):
        return _Finding("ask", "rule", f"The rule {asked.text} asks about it.", asked.text)
    limits = (*rules.deny, *rules.ask)
    if possible := possible_rule(limits, request):
        return _Finding("ask", "rule", possible[1], possible[0].text)
    if (mode == BYPASS or is_trusted(request)) and (reason := next(_hiding_places(limits, request), None)):
        return _Finding("ask", "rule", f"{reason} What a rule denies or asks about may hide in it.")
    if mode == BYPASS:
        return _Finding("allow", "mode", f"The mode {BYPASS} allows everything.")
    return _granted(request)


def _hiding_places(limits: Sequence[Rule], request: Request) -> Iterator[str]:
    """Where everything is allowed: what a rule that denies or asks could not look into."""
    kind, given = request.call.kind, request.given
    about_commands, about_paths = any(rule.command for rule in limits), any(rule.path for rule in limits)
    if about_commands or about_paths or any(rule.domain for rule in limits):
        yield from (line.unclear for line in request.lines if line.unclear)
    if about_commands or about_paths:
        launching = (command.words[0] for command in request.commands if starts_programs(command.words))
        yield from (f"`{program}` can start another program." for program in launching)
    if limits and given.is_too_large:
        yield "The input is too large to check."
    if about_commands and given.commands and given.unknown_member:
        yield f"`{given.unknown_member[:40]}` stands beside the command."
    if (about_commands or about_paths) and kind == "execute" and not given.commands:
        yield "The call does not say which command it runs."
    if about_paths and kind in ("read", "edit", "delete", "move") and not given.paths:
        yield "The call does not say which files it is about."
    if about_paths and kind == "move" and not request.has_two_ends:
        yield "The call does not say where the file goes."
    if about_paths:
        unknown = (path for path in (*request.paths, *request.written) if not path.real)
        yield from (f"It is not known where `{path.text[:200]}` leads." for path in unknown)
    if any(rule.domain for rule in limits) and kind == "fetch" and not given.urls:
        yield "The call does not say which address it fetches."


def _granted(request: Request) -> _Finding:
    if reason := contradiction(request):
        return _Finding("ask", "mode", reason)
    found = grant(request)
    if found.problem:
        return _Finding("ask", "mode", found.problem, is_open=True)
    if not found.rules:
        return _Finding("allow", "mode", f"The mode {ACCEPT_EDITS} allows it in the project.")
    names = " and ".join(found.rules)
    words = f"The rule {names} allows it." if len(found.rules) == 1 else f"The rules {names} allow it."
    return _Finding("allow", "rule", words, names)


# -- suggestions ----------------------------------------------------------------------------------------------------


def _candidates(request: Request) -> tuple[str, ...]:
    """The narrowest rule first, then the bare name."""
    if sum(map(len, request.given.commands)) > MAX_SUGGESTED:
        return ()
    return tuple(filter(None, dict.fromkeys((_suggestion(request), NAME_OF.get(request.call.kind)))))


def _would_allow(text: str, request: Request) -> bool:
    rules = request.context.rules
    try:
        more = replace(rules, allow=(*rules.allow, parse(text)))
    except ValueError:
        return False
    return grant(Request(request.call, replace(request.context, rules=more), request.earlier)).problem is None


def _suggestion(request: Request) -> str | None:
    if request.given.tool:
        return request.given.tool
    name = NAME_OF.get(request.call.kind)
    if name == "Bash":
        return _for_command(request)
    if name == "WebFetch":
        hosts = {host_of(url) for url in request.given.urls}
        host = hosts.pop() if len(hosts) == 1 else None
        return f"WebFetch(domain:{host})" if host else None
    return _for_paths(request, name) if name else None


def _for_command(request: Request) -> str | None:
    """The one command that no rule covers yet, word for word."""
    uncovered = {words for verdict in request.verdicts for words in verdict.uncovered}
    if len(uncovered) != 1:
        return None
    text = shlex.join(uncovered.pop())
    try:
        return f"Bash({text})" if compile_command(text).is_exact else None
    except ValueError:
        return None


def _for_paths(request: Request, name: str) -> str | None:
    """The file; of several the folder that holds them all, if that is less than the project."""
    named = {_as_in_rule(request, path.written) for path in request.paths if not path.problem} - {""}
    if len(named) <= 1:
        return f"{name}({named.pop()})" if named else None
    folder = posixpath.commonpath(named) if len({path[:1] == "/" for path in named}) == 1 else ""
    return f"{name}({folder}/**)" if folder.strip("/.") else None


def _as_in_rule(request: Request, path: str) -> str:
    """Relative to the project; a name without a slash would match at any depth."""
    for root in (request.context.root, request.context.real_root):
        inner = below(path, root)
        if inner is not None:
            return "/".join(inner) if len(inner) > 1 else "".join(f"./{name}" for name in inner)
    return posixpath.normpath(path)


# -- rules that a person writes while a call waits ------------------------------------------------------------------


def rule_problem(text: str) -> str | None:
    """Why `text` cannot be saved as a rule."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return None


def rule_doubt(text: str, question: Question, root: str, home: str = "") -> str | None:
    """Why a person may not want the rule `text`: it allows too much, or does not allow this call.

    `root` is the project's folder. Paths are taken to lead where they say, since nobody looks at the disk here.
    """
    rule = parse(text)
    if rule.warning or text in (question.suggestion, *question.rules):
        return rule.warning
    start = PolicyContext(rules=Rules(allow=(rule,)), root=root, cwd=root, home=home)
    known = replace(start, real={path: path for path in paths(question.call, start)})
    decision = decide(question.call, question.options, known)
    return None if decision.outcome == "allow" else f"By itself this rule does not allow this call: {decision.reason}"
