"""The options of a permission request: what the agent remembers of an answer, and which rule would allow it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence

from ..acp.messages import PermissionOption
from ..permissions import policy
from ..permissions.question import Question
from .plain import visible_line, visible_text

DENY, WHY = "Deny", "Deny and say why…"
REMEMBERED = "the agent remembers it"
STANDING = {"allow_always": "allow", "reject_always": "reject"}
"""Kinds of options that the agent remembers, and what it then does."""

_COPILOT_REMEMBERS = {
    "execute": "exactly this command",
    "edit": "every edit",
    "delete": "every edit",
    "move": "every edit",
    "other": "every use of this tool",
}
_NO = re.compile(
    r"\b(?:no|not|don['’]?t|never|den(?:y|ied)|reject(?:ed)?|refuse|cancel|stop|abort|decline|block|disallow|forbid)\b",
    re.IGNORECASE,
)
_TELL = re.compile(r"\btell\b", re.IGNORECASE)
_ASK_NO_MORE = re.compile(r"\b(?:don['’]?t|do not|never) ask\b", re.IGNORECASE)


def remembered(question: Question, option: PermissionOption) -> str:
    """What the agent makes of an answer that it remembers."""
    verb = STANDING[option.kind]
    if question.of_copilot and question.call.kind in _COPILOT_REMEMBERS:
        return f"From now on, Copilot {verb}s {_COPILOT_REMEMBERS[question.call.kind]} without asking."
    return f"The agent will also {verb} anything it considers equivalent from now on; what counts is up to it."


def settings_for(rules: Iterable[str]) -> list[str]:
    """The setting that allows each rule, quoted for a shell since a rule may hold an agent's path."""
    return [f"COPILOT_KERNEL_ALLOW={shlex.quote(json.dumps([rule]))}" for rule in rules]


def remark(option: PermissionOption) -> str:
    """What stands beside an option's name, which the agent chose: that it is remembered, or allows despite its name."""
    is_no = bool(_NO.search(_ASK_NO_MORE.sub("", visible_text(option.name))))
    belied = "this allows it" if option.kind in ("allow_once", "allow_always") and is_no else ""
    return ", ".join(filter(None, (belied, REMEMBERED if option.kind in STANDING else "")))


def option_name(option: PermissionOption) -> str:
    """The agent's name of it, on one line."""
    return visible_line(option.name) or option.kind


def button_name(option: PermissionOption, options: Sequence[PermissionOption]) -> str:
    """What its button is called: as the agent calls it, but for a rejection that promises to tell the agent something.

    That one is our own *Deny and say why…*; without a reason it is a plain no. Empty: another option is that.
    """
    if not _promises_to_tell(option):
        return option_name(option)
    return DENY if [each for each in options if each.kind == "reject_once"] == [option] else ""


def rejection_to_explain(options: Sequence[PermissionOption]) -> int | None:
    """Which option a reason goes with: a rejection that is named so, else the first."""
    found = next(filter(_promises_to_tell, options), None) or policy.reject(options)
    return None if found is None else options.index(found)


def _promises_to_tell(option: PermissionOption) -> bool:
    return option.kind == "reject_once" and bool(_TELL.search(option.name))
