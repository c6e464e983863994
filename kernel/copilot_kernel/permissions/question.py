"""A permission request as a value: what a person must see to decide, and the one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..acp.messages import PermissionOption
from ..conversation.model import ToolCall

AnsweredBy = Literal["you", "rule", "mode", "none", "cancel"]


@dataclass(frozen=True, slots=True)
class Question:
    """`key` is our own counter: request ids and tool call ids repeat. `call` is the merged tool call."""

    key: int
    call: ToolCall
    options: tuple[PermissionOption, ...]
    # Why a person is asked, in one sentence for the user.
    why: str = ""
    # It is only that no rule covers the call.
    is_routine: bool = False
    # Rules of which each one alone, added to `allow`, would have allowed this call.
    rules: tuple[str, ...] = ()
    # The narrowest rule worth saving for calls like this; empty if there is none. A person may edit it.
    suggestion: str = ""
    # The folder that the call works in: the one it names, else the session's.
    folder: str = ""
    # The agent is GitHub Copilot, of which it is known what "always" means.
    of_copilot: bool = False


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """`option` None means `cancelled`. `reason` says in words who decided and why, for the static line."""

    option: PermissionOption | None
    by: AnsweredBy
    reason: str = ""
    # A rule that the person adds to `allow` with this answer; empty: none.
    rule: str = ""
    # How long `rule` holds: until the conversation is another one, or from now on, in the settings.
    keep: Literal["session", "settings"] = "session"
    # What the person says to the agent with a "no"; it is sent as the next prompt. Empty: nothing.
    feedback: str = ""

    @property
    def allows(self) -> bool:
        """True only for the two kinds that allow; an unknown kind is neither allow nor reject."""
        return self.option is not None and self.option.kind in ("allow_once", "allow_always")

    @property
    def rejects(self) -> bool:
        """True only for the two kinds that reject."""
        return self.option is not None and self.option.kind in ("reject_once", "reject_always")

    @property
    def words(self) -> str:
        """What was decided and by whom, the rule that was added, and the feedback for the agent; in one line."""
        if self.option is None:
            return f"Not run ({self.reason or 'no answer'})"
        verb = "Allowed" if self.allows else "Rejected" if self.rejects else "Answered"
        where = "in your settings" if self.keep == "settings" else "for this session"
        rule = f"; rule added {where}: {self.rule}" if self.rule else ""
        feedback = f"; sent to the agent: {' '.join(self.feedback.split())}" if self.feedback else ""
        return f"{verb}: {self.option.name} ({self.reason or self.by}){rule}{feedback}"
