"""What the demo agent knows of one session while it is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from .journal import Journal, Past
from .project import FOLDER
from .script import texts


@dataclass(slots=True)
class Session:
    """`allowed` holds what was allowed for ever, `calls` counts tool calls."""

    id: str
    cwd: Path
    chosen: dict[str, Any]
    journal: Journal
    servers: Sequence[Any] = ()
    prompts: list[str] = field(default_factory=list)
    calls: Iterator[int] = field(default_factory=lambda: count(1))
    allowed: set[tuple[str, str]] = field(default_factory=set)
    fresh: bool = True
    """The scratch project of the natural prompts has not been used in this session."""

    def hear(self, blocks: Sequence[Any]) -> None:
        """A prompt, which is remembered from now on."""
        self.journal.begin(self.id, str(self.cwd), self.chosen)
        self.prompts.append("\n".join(texts(blocks)))
        self.journal.write(prompt=blocks)

    def choose(self, chosen: dict[str, Any]) -> None:
        self.chosen = chosen
        self.journal.write(chosen=chosen)

    def restore(self, past: Past) -> None:
        """What is known of its past; it goes on in the same journal."""
        self.prompts = past.prompts
        self.calls = count(1 + sum(_begins(record.get("update")) for record in past.records))
        self.fresh = not (self.cwd / FOLDER).exists()
        self.journal.begin(self.id, str(self.cwd), self.chosen)


def _begins(update: Any) -> bool:
    return isinstance(update, dict) and update.get("sessionUpdate") == "tool_call"
