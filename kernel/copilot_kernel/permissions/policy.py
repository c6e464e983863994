"""May it, without asking? One pure function of the call, the rules, the mode and what was found out about its paths.

What is denied goes before what is asked about, and that before what is allowed. Whatever is unclear asks. Only an
option of kind `allow_once` is ever chosen for a yes: never a standing grant, and never by position, name or id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..acp.messages import Option
from ..conversation.model import ToolCall
from . import inputs, limits, searches
from .circumstances import Circumstances
from .contradictions import contradiction
from .grants import ACCEPT_EDITS, granted
from .request import Request, paths
from .rules import KINDS, Rule, Rules, parse, warning
from .suggestions import LONGEST as LONGEST_WORTH
from .suggestions import suggestion

__all__ = ["BYPASS", "PLAN", "Circumstances", "Decision", "Rules", "decide", "paths", "reject"]

PLAN = "plan"
BYPASS = "bypassPermissions"

Outcome = Literal["allow", "ask", "reject"]
By = Literal["rule", "mode"]


@dataclass(frozen=True, slots=True)
class Decision:
    """`option` None with `reject` means that the agent offers no way to say no: `cancelled` is what is left."""

    outcome: Outcome
    option: Option | None
    by: By
    reason: str
    """Why, as one sentence for the user."""
    rule: str = ""
    """The rule, or the rules that together, decided; empty: none did."""
    would: tuple[str, ...] = ()
    """Rules of which each alone, added to `allow`, would have allowed it. Only where the outcome is `ask`."""
    suggestion: str = ""
    """The narrowest of them; empty: no rule alone would, or only one that means everything."""


@dataclass(frozen=True, slots=True)
class _Finding:
    outcome: Outcome
    by: By
    words: str
    rule: str = ""
    is_open: bool = False
    """One more rule that allows could have changed it."""


def decide(
    call: ToolCall, options: Sequence[Option], circumstances: Circumstances, earlier: ToolCall | None = None
) -> Decision:
    """About the merged `call`. `earlier` is the same call as it was shown before it asked, or None if it was not.

    Never raises, whatever an agent sends.
    """
    request = Request(call, inputs.read(call), circumstances)
    found = _find(request, earlier)
    option = _option(found.outcome, options)
    if found.outcome == "allow" and option is None:
        words = f"{found.words}, but the agent offers no answer that allows it only once"
        return Decision("ask", None, found.by, _sentence(words), found.rule)
    if found.outcome != "ask":
        return Decision(found.outcome, option, found.by, _sentence(found.words), found.rule)
    would = _would(request) if found.is_open else ()
    narrow = next((rule for rule in would if not warning(parse(rule))), "")
    return Decision("ask", None, found.by, _sentence(found.words), found.rule, would, narrow)


def reject(options: Sequence[Option]) -> Option | None:
    """How to say no when nobody can answer; None: only `cancelled` is left."""
    return _first(options, "reject_once") or _first(options, "reject_always")


def _find(request: Request, earlier: ToolCall | None) -> _Finding:
    mode, rules = request.circumstances.mode, request.circumstances.rules
    if mode == PLAN:
        return _Finding("reject", "mode", "the mode is plan, in which nothing is done and nobody is asked")
    if denied := limits.limit(rules.deny, request) or request.limited_by("deny"):
        return _Finding("reject", "rule", f"the rule {denied} denies it", denied)
    if words := limits.ours(request):
        return _Finding("ask", "mode", f"{words}, and changing them always asks")
    if asked := limits.limit(rules.ask, request) or request.limited_by("ask"):
        return _Finding("ask", "rule", f"the rule {asked} asks about it", asked)
    if hinted := limits.hinted((*rules.deny, *rules.ask), request):
        return _Finding("ask", "rule", f"it names what the rule {hinted} is about", hinted)
    if held := searches.held_back((*rules.deny, *rules.ask), request):
        return _Finding("ask", "rule", f"the search may read what the rule {held} is about", held)
    return _bypassed(request) if mode == BYPASS else _granted(request, earlier)


def _bypassed(request: Request) -> _Finding:
    """Everything, unless what a rule denies or asks about may hide in it."""
    rules = (*request.circumstances.rules.deny, *request.circumstances.rules.ask)
    words = next((words for is_about, find in _HIDING if any(map(is_about, rules)) and (words := find(request))), "")
    if words:
        return _Finding("ask", "rule", words)
    return _Finding("allow", "mode", f"the mode {BYPASS} allows everything")


def _hidden_command(request: Request) -> str:
    unclear = next((verdict.reason for verdict in request.verdicts if verdict.outcome == "ask"), "")
    if request.seen.commands and request.seen.aside:
        unclear = unclear or f"it holds {request.seen.aside[:40]} beside its command"
    if request.call.kind == "execute" and not request.seen.commands:
        unclear = unclear or "it does not say which command it runs"
    return f"{unclear}, and a command that a rule denies may hide in it" if unclear else ""


def _hidden_file(request: Request) -> str:
    kind, seen = request.call.kind, request.seen
    if kind == "execute" and not seen.commands:
        return "it does not say which command it runs, and a rule denies some files"
    if kind in ("read", "edit", "delete") and not seen.paths:
        return "it does not say which files it is about, and a rule denies some"
    if kind == "move" and not request.has_ends:
        return "it does not say where from and where to, and a rule denies some files"
    unknown = next((spot for spot in (*request.spots, *request.written) if not spot.real), None)
    return f"it is not known where {unknown.text[:200]} leads, and a rule denies some files" if unknown else ""


def _hidden_address(request: Request) -> str:
    is_unsaid = request.call.kind == "fetch" and not request.seen.urls
    return "it does not say which address it fetches, and a rule denies some" if is_unsaid else ""


def _too_much(request: Request) -> str:
    return "its input has more parts than can be looked at, and a rule denies some" if request.seen.too_much else ""


_HIDING: tuple[tuple[Callable[[Rule], object], Callable[[Request], str]], ...] = (
    (lambda rule: rule.command, _hidden_command),
    (lambda rule: rule.path, _hidden_file),
    (lambda rule: rule.domain, _hidden_address),
    (lambda rule: True, _too_much),
)
"""Which rules something may hide from, and how."""


def _granted(request: Request, earlier: ToolCall | None) -> _Finding:
    if words := contradiction(request.call, request.seen, earlier, request.circumstances.cwd):
        return _Finding("ask", "mode", words)
    grant = granted(request)
    if grant.problem:
        return _Finding("ask", "mode", grant.problem, is_open=True)
    if grant.by:
        named, several = " and ".join(grant.by), len(grant.by) > 1
        return _Finding(
            "allow", "rule", f"the {'rules' if several else 'rule'} {named} allow{'' if several else 's'} it", named
        )
    return _Finding("allow", "mode", f"the mode {ACCEPT_EDITS} allows it in the project")


def _would(request: Request) -> tuple[str, ...]:
    """The narrowest rule first, then the bare name."""
    return tuple(rule for rule in _candidates(request) if _alone(rule, request))


def _candidates(request: Request) -> tuple[str, ...]:
    if sum(map(len, request.seen.commands)) > LONGEST_WORTH:
        return ()
    bare = next((name for name, kinds in KINDS.items() if request.call.kind in kinds), "")
    return tuple(dict.fromkeys(filter(None, (suggestion(request), bare))))


def _alone(text: str, request: Request) -> bool:
    rules = request.circumstances.rules
    try:
        more = replace(rules, allow=(*rules.allow, parse(text)))
    except ValueError:
        return False
    tried = Request(request.call, request.seen, replace(request.circumstances, rules=more))
    return not granted(tried).problem


def _option(outcome: Outcome, options: Sequence[Option]) -> Option | None:
    if outcome == "allow":
        return _first(options, "allow_once")
    return reject(options) if outcome == "reject" else None


def _first(options: Sequence[Option], kind: str) -> Option | None:
    return next((option for option in options if option.kind == kind), None)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
