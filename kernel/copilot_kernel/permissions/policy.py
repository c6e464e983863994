"""The decision about a permission request: a pure function of the call, the rules, the mode and its paths.

Deny takes precedence over ask, and ask over allow; anything unclear asks. To allow a call, only an option of kind
`allow_once` is chosen: never a standing grant, and never by position, name or id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from ..acp.messages import PermissionOption
from ..config import MODE_NAMES, PLAN, SANDBOXED
from ..conversation.model import ToolCall
from ..system import drives
from ..system.drives import policy_path
from . import call_input
from .grants import BYPASS, Grant, grant, is_trusted
from .offers import offers
from .programs import starts_programs
from .question import Question, RuleOffer
from .remote import added_hosts
from .request import CHANGING, EXTRA_FIELD, ONLY_WORDS, PolicyContext, PolicyRequest, contradiction, paths
from .restrictions import changed_settings, matches, possible_rule
from .rulebook import NAME_OF, Rule, Rules, parse

__all__ = ["BYPASS", "PLAN", "Decision", "PolicyContext", "Rules", "decide", "paths", "reject"]

CHANGES_SETTINGS = "It may change settings of Copilot Kernel, which always asks:"
ALLOWED_BY_MODE = "Mode {} allows it in the project."
NO_ALLOW_ONCE = "But the agent does not offer to allow it only once."
REMOTE = "Showing this text loads content from {}, and the address itself can carry data there."
NAMELESS = "Windows may run this command under an alias."
NO_TOOL = "The call does not say which MCP server it uses."
DENY = PermissionOption(None, "Deny", "reject_once")
# Tools that no rule and no mode allows.
ALWAYS_ASKED = ("mcp__notebook__restart_kernel",)


@dataclass(frozen=True)
class Decision:
    """Decision about a request. With outcome `reject`, `option` is None if there are no options."""

    outcome: Literal["allow", "ask", "reject"]
    option: PermissionOption | None
    by: Literal["rule", "mode"]
    # One sentence for the user.
    reason: str
    # Rules that decided together.
    rules: tuple[str, ...] = ()
    # The request, if the user is asked only because no rule covers it.
    uncovered: PolicyRequest | None = field(default=None, compare=False, repr=False)

    @property
    def is_routine(self) -> bool:
        """Return True if the user is asked only because no rule covers the call."""
        return self.uncovered is not None

    @cached_property
    def would(self) -> tuple[str, ...]:
        """Rules that would each have allowed the call if added to `allow`: the narrowest, and the bare name."""
        name = self.uncovered and NAME_OF.get(self.uncovered.call.kind)
        bare = (RuleOffer("", name),) if name else ()
        return tuple(dict.fromkeys(offer.rule for offer in (*self._effective[:1], *filter(self._would_do, bare))))

    @property
    def offers(self) -> tuple[RuleOffer, ...]:
        """Rules that would each have allowed the call, without those that have a warning."""
        return tuple(offer for offer in self._effective if not parse(offer.rule).warning)

    @cached_property
    def _effective(self) -> tuple[RuleOffer, ...]:
        """Computed when first needed, like `would`: a decision without a question does not need them."""
        return tuple(filter(self._would_do, offers(self.uncovered))) if self.uncovered else ()

    def _would_do(self, offer: RuleOffer) -> bool:
        return self.uncovered is not None and _grant(self.uncovered, offer.rule).problem is None


def decide(
    call: ToolCall, options: Sequence[PermissionOption], context: PolicyContext, earlier: ToolCall | None = None
) -> Decision:
    """Decide about the merged `call`. `earlier` is the call as it was shown before its request. Never raises."""
    return judge(PolicyRequest(call, context, earlier), options)


def judge(request: PolicyRequest, options: Sequence[PermissionOption]) -> Decision:
    """Decide about a prepared request; see `decide`."""
    found = _find(request)
    if found.outcome == "reject":
        return replace(found, option=reject(options))
    once = _first(options, "allow_once")
    if found.outcome == "allow" and not once:
        return replace(found, outcome="ask", reason=f"{found.reason} {NO_ALLOW_ONCE}")
    return replace(found, option=once) if found.outcome == "allow" else found


def answerable(offered: Sequence[PermissionOption]) -> tuple[PermissionOption, ...]:
    """Return the options that the agent offers, one of which rejects once; none if it offers none.

    An option that rejects is left out if its id also belongs to one that may allow.
    """
    others = {option.id for option in offered if not option.rejects}
    kept = tuple(option for option in offered if not (option.rejects and option.id in others))
    return kept if not kept or _first(kept, "reject_once") else (*kept, DENY)


def reject(options: Sequence[PermissionOption]) -> PermissionOption | None:
    """Return the option that rejects; None if there is none, and the answer must be `cancelled`."""
    return _first(options, "reject_once") or _first(options, "reject_always")


def _first(options: Sequence[PermissionOption], kind: str) -> PermissionOption | None:
    return next((option for option in options if option.kind == kind), None)


def _find(request: PolicyRequest) -> Decision:
    mode, rules = request.context.mode, request.context.rules
    if mode == PLAN:
        return Decision("reject", None, "mode", "Mode plan rejects every request.")
    if denied := next((rule for rule in rules.deny if matches(rule, request)), None):
        return Decision("reject", None, "rule", f"The rule {denied.text} denies it.", (denied.text,))
    if request.given.tool in ALWAYS_ASKED:
        return Decision("ask", None, "mode", "A restart loses all variables, so it always asks.")
    if settings := changed_settings(request):
        return Decision("ask", None, "mode", f"{CHANGES_SETTINGS} {settings}.")
    if asked := next((rule for rule in rules.ask if matches(rule, request)), None):
        return Decision("ask", None, "rule", f"The rule {asked.text} asks about it.", (asked.text,))
    restrictions = (*rules.deny, *rules.ask)
    if possible := possible_rule(restrictions, request):
        return Decision("ask", None, "rule", possible[1], (possible[0].text,))
    is_confined = mode == SANDBOXED and _is_of_own_processes(request)
    if (is_confined or is_trusted(request)) and (reason := next(_hiding_places(restrictions, request), None)):
        return Decision("ask", None, "rule", f"{reason} It could contain something that a deny or ask rule covers.")
    if mode == BYPASS:
        return Decision("allow", None, "mode", f"Mode {BYPASS} allows everything.")
    if is_confined and not added_hosts(request):
        return Decision("allow", None, "mode", f"Mode {SANDBOXED} allows it: it runs in the sandbox.")
    return _granted(request)


def _is_of_own_processes(request: PolicyRequest) -> bool:
    """Return True for a command or an edit by the agent itself that concerns no guarded path.

    Tools of MCP servers do not count: they may run outside the sandbox.
    """
    kind, given = request.call.kind, request.given
    names_subject = given.commands if kind == "execute" else given.paths if kind in CHANGING else ()
    is_of_server = any(name.startswith("mcp__") for name in (given.tool or "", *request.claimed_tools))
    is_guarded = any(map(request.context.guard, (*request.paths, *request.written)))
    return bool(names_subject) and not (is_of_server or given.is_gate or is_guarded)


def _hiding_places(restrictions: Sequence[Rule], request: PolicyRequest) -> Iterator[str]:
    """Yield reasons why deny and ask rules cannot check the request, for modes that would allow it."""
    kind, given = request.call.kind, request.given
    parts = ("command", "path", "domain", "server")
    commands, paths, hosts, servers = (any(getattr(rule, part) for rule in restrictions) for part in parts)
    if commands or paths or hosts:
        yield from (line.unclear for line in request.lines if line.unclear)
    if commands or paths:
        launching = (command.words[0] for command in request.commands if starts_programs(command.words))
        yield from (f"`{program}` can start another program." for program in launching)
    unknown = (path.text for path in (*request.paths, *request.written) if paths and not path.real)
    yield from (f"Cannot tell where `{text[:200]}` leads." for text in unknown)
    if drives.WINDOWS and (commands or paths):
        yield from (path.problem for path in (*request.paths, *request.other_paths, *request.written) if path.problem)
        yield from (NAMELESS for _ in request.texts)
    named_files = kind in ("read", "edit", "delete", "move")
    gaps = (
        (bool(restrictions) and given.is_too_large, "The input is too large to check."),
        (bool(restrictions) and call_input.described(request.call), ONLY_WORDS),
        (commands and given.commands and given.unknown_member, EXTRA_FIELD.format(given.unknown_member)),
        ((commands or paths) and kind == "execute" and not given.commands, "The call does not name its command."),
        (servers and kind in ("other", "execute") and not (given.commands or given.tool), NO_TOOL),
        (paths and named_files and not given.paths, "The call does not name its files."),
        (paths and kind == "move" and not request.has_two_ends, "The call does not say where the file goes."),
        (hosts and kind == "fetch" and not given.urls, "The call does not name its address."),
    )
    yield from (reason for is_hidden, reason in gaps if is_hidden)


def decider(decision: Decision, mode: str) -> str:
    """Name who decided in the user's place, such as "rule `Bash(ls)`"."""
    if decision.by == "mode":
        return f"“{MODE_NAMES[mode]}” mode"
    return f"rule{'s' * (len(decision.rules) > 1)} {' and '.join(f'`{rule}`' for rule in decision.rules)}"


def _granted(request: PolicyRequest) -> Decision:
    if hosts := added_hosts(request):
        return Decision("ask", None, "mode", REMOTE.format(", ".join(hosts)))
    if reason := contradiction(request):
        return Decision("ask", None, "mode", reason)
    found = _grant(request)
    if found.problem:
        changed = (*request.paths, *request.other_paths, *request.written) if request.may_change_files else ()
        is_guarded = any(map(request.context.guard, changed))  # which no rule covers
        return Decision("ask", None, "mode", found.problem, uncovered=None if is_guarded else request)
    if not found.rules:
        return Decision("allow", None, "mode", ALLOWED_BY_MODE.format(request.context.mode))
    names = " and ".join(found.rules)
    words = f"The rule {names} allows it." if len(found.rules) == 1 else f"The rules {names} allow it."
    return Decision("allow", None, "rule", words, tuple(found.rules))


def _grant(request: PolicyRequest, added: str = "") -> Grant:
    """Return the combined grants of all lists, each with the rule `added`."""
    rules, more = request.context.rules, (parse(added),) if added else ()
    found = Grant()
    for allow in (rules.allow, *rules.allow_limits):
        each = grant(_with_allow(request, (*allow, *more)))
        found = Grant(tuple(dict.fromkeys((*found.rules, *each.rules))), found.problem or each.problem)
    return found


def _with_allow(request: PolicyRequest, allow: tuple[Rule, ...]) -> PolicyRequest:
    context = request.context
    if allow == context.rules.allow:
        return request  # keeps the cached results
    return replace(request, context=replace(context, rules=replace(context.rules, allow=allow)))


# -- rules that a person writes while a call waits ------------------------------------------------------------------


def rule_doubt(text: str, question: Question, root: str, home: str = "") -> str | None:
    """Return why the user may not want the rule `text`: it allows too much, or does not allow this call.

    `root` is the project's folder. Links are not followed: this does not read the disk.
    """
    rule, root, home = parse(text), policy_path(root), policy_path(home)
    if rule.warning or question.call is None or text in (*(offer.rule for offer in question.offers), *question.rules):
        return rule.warning
    start = PolicyContext(rules=Rules(allow=(rule,)), root=root, cwd=root, home=home)
    known = replace(start, real={path: path for path in paths(question.call, start)})
    decision = decide(question.call, question.options, known)
    return None if decision.outcome == "allow" else f"By itself this rule does not allow this call: {decision.reason}"
