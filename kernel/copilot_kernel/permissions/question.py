"""A permission request as a value: what a person must see to decide, and the one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..acp.messages import Option
from ..conversation.model import ToolCall

By = Literal["you", "rule", "mode", "nobody", "cancel"]


@dataclass(frozen=True, slots=True)
class Question:
    """`key` is our own counter: request ids and tool call ids repeat. `call` is the merged tool call."""

    key: int
    call: ToolCall
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """`option` None means `cancelled`. `reason` says in words who decided and why, for the static line."""

    option: Option | None
    by: By
    reason: str = ""

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
        """What was decided and by whom, in one line."""
        if self.option is None:
            return f"Cancelled: {self.reason or 'no answer'}"
        verb = "Allowed" if self.allows else "Rejected" if self.rejects else "Answered"
        return f"{verb}: {self.option.name} ({self.reason or self.by})"
