"""What a person wants to know besides the call: why they are asked, what would allow it, what "always" means."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator

from ..acp.messages import Option
from ..permissions.question import Question
from .plain import one_line, visible_text

_SAME = {
    "execute": "GitHub Copilot: the identical command.",
    "edit": "GitHub Copilot: every later edit.",
    "delete": "GitHub Copilot: every later edit.",
    "move": "GitHub Copilot: every later edit.",
    "other": "GitHub Copilot: every use of this tool.",
}
RULES = "Would be allowed by"
OPEN = "Open question. In a saved notebook: it was not answered before that was saved, and no longer can be."
"""Right while it is open, and for whoever reads it afterwards without its buttons."""
NO_BUTTONS = "(Its buttons stand here where Jupyter shows widgets, as long as the kernel that asked runs.)"
"""In their place, where they are not shown."""


def settings_for(rules: Iterable[str]) -> list[str]:
    """For each rule the setting that allows it, quoted for a shell: what is in a rule may be an agent's path."""
    return [f"COPILOT_KERNEL_ALLOW={shlex.quote(json.dumps([rule]))}" for rule in rules]


def reasons(question: Question) -> Iterator[tuple[str, str]]:
    """Name and text of each."""
    if question.why:
        yield "Why you are asked", question.why
    if question.rules:
        yield RULES, "\n".join(question.rules)
    yield from (_standing(option, question.call.kind) for option in question.options if option.kind in STANDING)


STANDING = {"allow_always": "allows", "reject_always": "rejects"}
"""Kinds of options that the agent keeps, and what it then does."""


def _standing(option: Option, kind: str) -> tuple[str, str]:
    verb = STANDING[option.kind]
    words = f"The agent {verb} this and, from now on, what it takes for the same: the agent decides what that is."
    return f"“{visible_text(one_line(option.name)) or option.kind}”", f"{words} {_SAME.get(kind, '')}".rstrip()
