"""How a tool call stands: a mark, a word and a colour; and a sign for what kind of call it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..conversation.model import ToolCall
from .markup import AMBER, BLUE, GREEN, GREY, LINE, RED, escape, named
from .plain import unbroken

_ICONS = {
    "read": "≡",
    "edit": "✎",
    "delete": "✕",
    "move": "→",
    "search": "⌕",
    "execute": "❯",
    "think": "∴",
    "fetch": "↓",
    "switch_mode": "⇄",
}


@dataclass(frozen=True, slots=True)
class Look:
    """`edge` is the colour of the line beside the card: it stands out only where a reader should look."""

    mark: str
    words: str
    colour: str
    edge: str

    def html(self) -> str:
        """Mark and words in their colour."""
        return named(f"{self.mark} {self.words}", f"color:{self.colour}")


_STATUSES = {
    "pending": Look("○", "pending", GREY, LINE),
    "waiting": Look("◌", "waiting for an answer", AMBER, AMBER),
    "in_progress": Look("◐", "running", BLUE, BLUE),
    "completed": Look("✓", "done", GREEN, LINE),
    "failed": Look("✗", "failed", RED, RED),
    "rejected": Look("⊘", "rejected", RED, RED),
    "cancelled": Look("■", "cancelled", GREY, LINE),
}


def look(call: ToolCall, exit_code: int | None) -> Look:
    """Some agents call a command completed that failed: its exit code decides what it looks like."""
    said = _STATUSES.get(call.status, Look("•", unbroken(call.status), GREY, LINE))
    decision = unbroken(call.decision)
    if decision.lower().startswith(said.words):
        return replace(said, words=decision)
    if exit_code is None:
        return said
    if exit_code:
        return Look("✗", f"{said.words} with exit code {exit_code}", RED, RED)
    return replace(said, words=f"{said.words}, exit code 0")


def icon_html(kind: str) -> str:
    """A sign that is named for whoever cannot see it."""
    name = escape(kind)
    return f'<span role="img" title="{name}" aria-label="{name}">{_ICONS.get(kind, "•")}</span>'
