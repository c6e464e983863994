"""All decisions of a conversation in the order in which they were made: who decided what, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..conversation.model import ToolCall
from . import inputs
from .question import Answer, By

MOST = 1_000
"""Decisions that are kept, the newest ones."""
LONGEST = 300
"""Characters of what a decision was about."""

Outcome = Literal[
    "allowed", "rejected", "answered", "cancelled", "ran without asking", "ran although refused", "covered"
]


@dataclass(frozen=True, slots=True)
class Decided:
    """`number` counts from 1 in the order of the decisions; `rule` is empty if none decided."""

    number: int
    turn: int
    what: str
    outcome: Outcome
    by: By
    rule: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """`count` is that of all decisions; of very many, only the newest are in `kept`."""

    kept: tuple[Decided, ...] = ()
    count: int = 0

    def answered(self, call: ToolCall, answer: Answer, rule: str = "") -> Ledger:
        """With the answer to a question about `call`."""
        return self._with(call, _outcome(answer), answer.by, rule, answer.reason)

    def acted(self, call: ToolCall, outcome: Outcome, reason: str) -> Ledger:
        """With something that the agent did without a question, or against the answer."""
        return self._with(call, outcome, "nobody", "", reason)

    def _with(self, call: ToolCall, outcome: Outcome, by: By, rule: str, reason: str) -> Ledger:
        entry = Decided(self.count + 1, call.turn, what(call), outcome, by, rule, reason)
        return replace(self, kept=(*self.kept, entry)[-MOST:], count=self.count + 1)


def what(call: ToolCall) -> str:
    """What the call is about: its commands, else its title and the paths that the title does not name."""
    seen = inputs.read(call)
    commands = "; ".join(f"$ {line}" for line in seen.commands)
    paths = (path for path in seen.paths if path not in call.title)
    said = commands or " · ".join(filter(None, (call.title or call.name or call.kind, *paths)))
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _outcome(answer: Answer) -> Outcome:
    if answer.option is None:
        return "cancelled"
    return "allowed" if answer.allows else "rejected" if answer.rejects else "answered"
