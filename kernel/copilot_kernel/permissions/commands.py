"""May this command line run? Every part must be allowed by a rule; what is denied or asked about needs one part only.

The two directions differ on purpose. To allow, a rule must fit the words exactly, and nothing may be unclear. To deny
or ask, a rule is read as widely as it can be meant. Even so a list of what is denied stops nobody who wants to get
round it: the protection is to allow exact shapes and to ask for the rest.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .patterns import Pattern
from .programs import hidden, unwrap, written
from .reach import Around, leads
from .shell import Line, read
from .unseen import unseen
from .wide import commands_in, named_by

Outcome = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` in words for a person; `rules`: those that decided; `writes`: files that must be allowed as edits."""

    outcome: Outcome
    reason: str
    rules: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


_NOWHERE = Around()


def judge(
    line: str,
    allow: Sequence[Pattern],
    ask: Sequence[Pattern] = (),
    deny: Sequence[Pattern] = (),
    *,
    trust_all: bool = False,
    around: Around = _NOWHERE,
) -> Verdict:
    """Deny before ask before allow. `trust_all` is the rule `Bash`: every command line whose text hides nothing.

    `cd` to just where the command starts needs no rule, nor does `true`. Never raises; time is bounded.
    """
    seen = read(line)
    limits = (*deny, *ask)
    commands, complete = commands_in(line, seen, limits) if limits else ((), True)
    if denied := named_by(deny, commands):
        return Verdict("deny", f"the rule Bash({denied.text}) denies it", (denied.text,), seen.writes)
    if asked := named_by(ask, commands):
        return Verdict("ask", f"the rule Bash({asked.text}) asks", (asked.text,), seen.writes)
    if not complete:
        return Verdict("ask", "it has too many words to be sure that no rule denies it", (), seen.writes)
    return _trusted(line, seen, bool(limits)) if trust_all else _allowed(seen, allow, around)


def _trusted(line: str, seen: Line, has_limits: bool) -> Verdict:
    """Where some commands are denied or asked about, a line in which one of them may hide is not for this rule."""
    reason = unseen(line)
    if has_limits and not reason:
        reason = seen.unclear or next(filter(None, (_hidden_from_limits(part, seen.globs) for part in seen.parts)), "")
    if reason:
        return Verdict("ask", reason, (), seen.writes)
    return Verdict("allow", "allowed by the rule Bash", ("Bash",), seen.writes)


def _hidden_from_limits(part: tuple[str, ...], globs: frozenset[str]) -> str:
    words = unwrap(part)
    if words[0] == "cd":
        return ""
    if any(re.fullmatch(r"(ba|z|da|k|fi|c|tc)?sh", posixpath.basename(word)) for word in words):
        return "it hands a text or a file to another shell"
    return hidden(words, (0,), globs)


def _allowed(seen: Line, allow: Sequence[Pattern], around: Around) -> Verdict:
    if seen.unclear or not seen.parts:
        return Verdict("ask", seen.unclear or "there is no command", (), seen.writes)
    rules: dict[str, None] = {}
    writes = list(seen.writes)
    for part in seen.parts:
        found = _rule_for(part, allow, seen.globs, around)
        if isinstance(found, str):
            return Verdict("ask", found, (), seen.writes)
        rules.update(dict.fromkeys(found.rules))
        writes.extend(found.writes)
    named = ", ".join(f"Bash({rule})" for rule in rules) or "no rule, since it does nothing"
    return Verdict("allow", f"allowed by {named}", tuple(rules), tuple(writes))


def _rule_for(part: tuple[str, ...], allow: Sequence[Pattern], globs: frozenset[str], around: Around) -> Verdict | str:
    """What allows this part; or why nothing does."""
    if part == ("true",) or (_stays(part, around.folder) and around.folder not in globs):
        return Verdict("allow", "it does nothing, or stays in the folder")
    reason = ""
    for words in dict.fromkeys((part, unwrap(part), _at_home(part, around.folder))):
        for pattern in allow:
            spelled = pattern.spelled(words, globs)
            if spelled is None:
                continue
            reason = hidden(words, spelled, globs, around.remotes) or leads(words, spelled, globs, around)
            if not reason:
                return Verdict("allow", "", (pattern.text,), _written(part, words, spelled))
    return reason or f"no rule allows {_shown(part)}"


def _written(part: tuple[str, ...], words: tuple[str, ...], spelled: frozenset[int]) -> tuple[str, ...]:
    """`nohup` keeps what the program says in a file of its own."""
    return written(words, spelled) + (("nohup.out",) if "nohup" in part[: len(part) - len(unwrap(part))] else ())


def _stays(part: tuple[str, ...], folder: str) -> bool:
    return bool(folder) and part == ("cd", folder)


def _at_home(part: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """Without the -C of git that leads to where the command starts anyway."""
    is_there = part[:2] == ("git", "-C") and len(part) > 3 and part[2] in (".", folder)
    return ("git", *part[3:]) if is_there else part


def _shown(part: tuple[str, ...]) -> str:
    text = shlex.join(part)
    return text if len(text) <= 60 else text[:59] + "…"
