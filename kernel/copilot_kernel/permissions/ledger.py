"""The record of all decisions of a conversation, and labels for what an agent did without asking.

What was done already cannot be stopped, only labelled. In doubt, a call is neither marked nor reported as covered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ..acp.messages import PermissionOption
from ..conversation import inputs
from ..conversation.model import ToolCall
from . import call_input
from .policy import Decision, decider
from .question import AnsweredBy, PermissionAnswer
from .request import PolicyContext, PolicyRequest
from .restrictions import changed_settings

MAX_LEDGER_ENTRIES = 1_000  # the newest decisions are kept
MAX_SUBJECT = 300  # characters of what a decision was about

LedgerOutcome = Literal["allowed", "denied", "answered", "cancelled", "not asked", "done although denied", "covered"]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """`number` counts from 1 in the order of the decisions; `rule` is empty if none decided."""

    number: int
    turn: int
    what: str
    outcome: LedgerOutcome
    by: AnsweredBy
    rule: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """`count` is the number of all decisions; only the newest are in `kept`."""

    kept: tuple[LedgerEntry, ...] = ()
    count: int = 0

    def answered(self, call: ToolCall, answer: PermissionAnswer) -> Ledger:
        """Return the ledger with the answer to a question about `call`."""
        return self._with(call, answer.verb if answer.option else "cancelled", answer.by, answer.rule, answer.reason)

    def acted(self, call: ToolCall, outcome: LedgerOutcome, reason: str) -> Ledger:
        """Return the ledger with an action that was not asked about, or went against the answer."""
        return self._with(call, outcome, "none", "", "" if reason == outcome else reason)

    def _with(self, call: ToolCall, outcome: LedgerOutcome, by: AnsweredBy, rule: str, reason: str) -> Ledger:
        entry = LedgerEntry(self.count + 1, call.turn, subject_of(call), outcome, by, rule, reason)
        return replace(self, kept=(*self.kept, entry)[-MAX_LEDGER_ENTRIES:], count=self.count + 1)


def subject_of(call: ToolCall) -> str:
    """Return the subject of a call: its commands, else its title and the paths that the title does not name.

    A tool of an MCP server is named, whatever it is given.
    """
    given = call_input.read(call)
    commands = () if inputs.mcp_tool(call) else given.commands
    paths = (path for path in given.paths if path not in call.best_title)
    names = (inputs.title(call) or call.name or call.kind, *paths)
    subject = "; ".join(f"$ {line}" for line in commands) or " · ".join(filter(None, names))
    return subject if len(subject) <= MAX_SUBJECT else f"{subject[: MAX_SUBJECT - 1]}…"


# -- actions without a question -------------------------------------------------------------------------------------

ONCE = (PermissionOption("", "", "allow_once"),)
_ACTIONS = ("edit", "delete", "move", "execute")
_UNASKED: LedgerOutcome = "not asked"


def unasked_action(request: PolicyRequest) -> str | None:
    """Return the action that the agent should have asked about: a change, a command, something outside the project.

    Searching and fetching are not counted.
    """
    call, given = request.call, request.given
    if call.kind in _ACTIONS or given.commands or given.changes_files:
        return _UNASKED
    outside = next((path for path in inputs.paths(call) if _is_outside(path, request.context)), None)
    return f"{_UNASKED}, outside the project: {outside}" if outside else None


def why_covered(request: PolicyRequest, decision: Decision, always_allowed: Iterable[ToolCall]) -> str | None:
    """Return what the user had allowed that covers the call; `decision` is what would be decided about it.

    `always_allowed` are the calls for which the user chose an option of kind `allow_always`. What such an answer covers
    is up to the agent; counted is what is certain: the same command, tool or paths, and later edits in the project.
    """
    if changed_settings(request):
        return None
    if decision.outcome == "allow":
        return f"covered by {decider(decision, request.context.mode)}"
    if decision.outcome == "reject":
        return None
    subject = next((found for earlier in always_allowed if (found := _same_subject(request, earlier))), None)
    return f"covered by your earlier answer to {subject}" if subject else None


def _same_subject(request: PolicyRequest, earlier: ToolCall) -> str | None:
    call, given, before = request.call, request.given, call_input.read(earlier)
    if call.kind != earlier.kind or given.is_gate != before.is_gate:
        return None
    if given.commands or before.commands or call.kind == "execute":
        is_same = bool(before.commands) and (before.commands, before.folder) == (given.commands, given.folder)
        return "the same command" if is_same else None
    if call.kind == "edit":
        is_inside = bool(request.paths) and all(map(request.context.is_inside, request.paths))
        return "an edit, which holds for later ones" if is_inside else None
    if call.kind == "other":
        is_same = (given.tool, call.title) == (before.tool, earlier.title) and bool(before.tool or earlier.title)
        return "the same tool" if is_same else None
    return "the same paths" if before.paths and set(before.paths) == set(given.paths) else None


def _is_outside(path: str, context: PolicyContext) -> bool:
    """Return True if a path is certainly outside: by its spelling, or because it is known where it leads."""
    if "\0" in path or "://" in path or not context.root:
        return False
    absolute = context.absolute(path)
    places = (absolute, context.real.get(absolute, context.root))
    return any(context.inner(place) is None for place in places)
