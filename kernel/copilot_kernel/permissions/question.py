"""A question as a value: what a person must see to decide, and the one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..acp.messages import Diff, PermissionOption
from ..conversation.model import ToolCall

AnsweredBy = Literal["you", "rule", "mode", "none", "cancel"]
Keep = Literal["session", "settings"]


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """A rule that the user may add to `allow`, with words that say what it then allows, and for how long."""

    words: str
    rule: str
    keep: Keep = "session"


@dataclass(frozen=True, slots=True)
class OwnSubject:
    """What we ask about on our own; the agent is told nothing.

    `head` is the question. `widens`: a yes lets the agent do more than the settings allow.
    """

    head: str
    commands: tuple[str, ...] = ()
    changes: tuple[Diff, ...] = ()
    widens: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """`about` is the merged tool call of a permission request."""

    about: ToolCall | OwnSubject
    options: tuple[PermissionOption, ...]
    # Why a person is asked, in one sentence for the user.
    why: str = ""
    # It is only that no rule covers the call.
    is_routine: bool = False
    # Rules of which each one alone, added to `allow`, would have allowed this call.
    rules: tuple[str, ...] = ()
    # Rules worth adding for calls like this, the narrowest first.
    offers: tuple[RuleOffer, ...] = ()
    # The folder that the call works in: the one it names, else the session's.
    folder: str = ""
    # How far the call can reach in the sandbox; empty: there is none.
    sandbox: str = ""
    # The agent is GitHub Copilot, of which it is known what "always" means.
    of_copilot: bool = False

    @property
    def call(self) -> ToolCall | None:
        """The call that it is about; None if the question is our own."""
        return self.about if isinstance(self.about, ToolCall) else None


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """`option` None means `cancelled`. `reason` names the rule or mode that decided, else says why nobody did."""

    option: PermissionOption | None
    by: AnsweredBy
    reason: str = ""
    # The rule that decided, or that the person adds to `allow` with this answer; empty: none.
    rule: str = ""
    # How long an added rule holds: until the conversation is another one, or from now on, in the settings.
    keep: Keep = "session"
    # What the person says to the agent with a "no"; it is sent as the next prompt. Empty: nothing.
    feedback: str = ""

    @property
    def allows(self) -> bool:
        """True only for the two kinds that allow; an unknown kind is neither allow nor reject."""
        return self.option is not None and self.option.kind in ("allow_once", "allow_always")

    @property
    def rejects(self) -> bool:
        """True only for the two kinds that reject."""
        return self.option is not None and self.option.rejects

    @property
    def verb(self) -> Literal["allowed", "denied", "answered"]:
        """What the option does with the call."""
        return "allowed" if self.allows else "denied" if self.rejects else "answered"

    def words(self, options: Sequence[PermissionOption]) -> str:
        """Return decision and decider in one line, such as `denied by you: “Use Python instead”`.

        Of the `options` that there were, the chosen one is named if that does not tell it.
        """
        if self.option is None:
            return f"not run ({self.reason or 'no answer'})"
        if self.by == "none" and self.allows:  # the call was left to its tool, which decides
            return ""
        if self.by != "you":
            return f"{self.verb}{' by ' if self.by in ('rule', 'mode') else ': '}{self.reason}"
        kind = self.option.kind
        is_told = kind in ("allow_once", "reject_once") and sum(option.kind == kind for option in options) <= 1
        name = "" if is_told else f" (“{_line(self.option.name)}”)"
        feedback = f": “{_line(self.feedback)}”" if self.feedback else ""
        where = "in your settings" if self.keep == "settings" else "for this session"
        rule = f"; rule `{self.rule}` added {where}" if self.rule else ""
        return f"{self.verb} by you{name}{feedback}{rule}"


def _line(text: str) -> str:
    return " ".join(text.split())
