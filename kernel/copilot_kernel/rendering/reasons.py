"""What a person wants to know besides the call: why they are asked, what would allow it, what "always" means."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator

from ..acp.messages import Option
from ..permissions.question import Question
from .plain import one_line, visible_text

_NO = re.compile(
    r"\b(?:no|not|don['’]?t|never|den(?:y|ied)|reject(?:ed)?|refuse|cancel|stop|abort|decline|block|disallow|forbid)\b",
    re.IGNORECASE,
)
_ALLOWING = ("allow_once", "allow_always")
_ASK_NO_MORE = re.compile(r"\b(?:don['’]?t|do not|never) ask\b", re.IGNORECASE)
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
    same = _SAME.get(question.call.kind, "") if question.of_copilot else ""
    yield from (_standing(option, same) for option in question.options if option.kind in STANDING)


def remark(option: Option) -> str:
    """What must be said beside an option's name, which is the agent's word: that it is kept, or no no at all."""
    kept = "kept by the agent" if option.kind in STANDING else ""
    belied = "this allows it" if option.kind in _ALLOWING and _is_no(option.name) else ""
    return ", ".join(filter(None, (belied, kept)))


def _is_no(name: str) -> bool:
    return bool(_NO.search(_ASK_NO_MORE.sub("", visible_text(name))))


STANDING = {"allow_always": "allows", "reject_always": "rejects"}
"""Kinds of options that the agent keeps, and what it then does."""


def _standing(option: Option, same: str) -> tuple[str, str]:
    verb = STANDING[option.kind]
    words = f"The agent {verb} this and, from now on, what it takes for the same: the agent decides what that is."
    return f"“{visible_text(one_line(option.name)) or option.kind}”", f"{words} {same}".rstrip()
