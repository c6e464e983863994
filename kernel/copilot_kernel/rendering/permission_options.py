"""The options of a permission request: what they are called, what the agent remembers, which rule would allow it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence

from ..acp.messages import PermissionOption
from ..permissions import policy
from ..permissions.question import Question
from .plain import visible_line

WORDS = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Deny",
    "reject_always": "Always deny",
}
"""Our name for an option of each kind, in place of the agent's."""
WHY = "Deny and say why…"
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
_TELL = re.compile(r"\btell\b", re.IGNORECASE)


def remembered(question: Question, option: PermissionOption) -> str:
    """Say what the agent makes of an answer that it remembers."""
    verb = STANDING[option.kind]
    if question.of_copilot and question.call and question.call.kind in _COPILOT_REMEMBERS:
        return f"From now on, Copilot {verb}s {_COPILOT_REMEMBERS[question.call.kind]} without asking."
    return f"From now on, the agent {verb}s similar calls without asking; only the agent can revoke this."


def settings_for(rules: Iterable[str]) -> list[str]:
    """The setting that allows each rule, quoted for a shell since a rule may hold an agent's path."""
    return [f"COPILOT_KERNEL_ALLOW={shlex.quote(json.dumps([rule]))}" for rule in rules]


def remark(option: PermissionOption) -> str:
    """Return the remark behind a label."""
    return REMEMBERED if option.kind in STANDING else ""


def label(question: Question, option: PermissionOption) -> str:
    """Return the label of an option: as its kind is, and the agent's words where others are of that kind.

    The agent's words never come first, since they may say the opposite. Questions of our own have names of our own.
    """
    words, called = WORDS.get(option.kind), _called(option)
    if words is None or question.call is None:
        return called
    return words if _alike(option, question.options) == [option] else f"{words}: {called}"


def agents_words(question: Question, option: PermissionOption) -> str:
    """Return the agent's words, quoted, if its button does not say them."""
    called = _called(option)
    is_said = label(question, option).endswith(called) and not is_for_a_reason(option, question.options)
    return "" if is_said else f"“{called}”"


def is_for_a_reason(option: PermissionOption, options: Sequence[PermissionOption]) -> bool:
    """Return True if an option promises to tell the agent something, beside a rejection that does not."""
    return option not in _alike(option, options)


def _alike(option: PermissionOption, options: Sequence[PermissionOption]) -> list[PermissionOption]:
    """Return the options of its kind between which the user chooses."""
    alike = [each for each in options if each.kind == option.kind]
    return [each for each in alike if not _promises_to_tell(each)] or alike


def _called(option: PermissionOption) -> str:
    """The agent's name of it, on one line."""
    return visible_line(option.name) or option.kind


def rejection_to_explain(options: Sequence[PermissionOption]) -> int | None:
    """Return the option that a reason goes with: a rejection that is named so, else the first."""
    found = next(filter(_promises_to_tell, options), None) or policy.reject(options)
    return None if found is None else options.index(found)


def _promises_to_tell(option: PermissionOption) -> bool:
    return option.kind == "reject_once" and bool(_TELL.search(option.name))
