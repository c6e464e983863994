"""What `%permissions` says: the mode, the rules with where they came from, and all that was decided."""

from __future__ import annotations

from .modes import BYPASSING, MODES
from .report import Report
from .situation import Situation

_ON_UNASKED = {"badge": "is shown in its card and counted", "cancel": "is shown, and cancels the turn"}
_CHANGE = "%permissions allow|ask|deny RULE adds one for this conversation, %permissions remove RULE takes it back."


def permissions(now: Situation) -> tuple[Report, ...]:
    """Three tables; the last one only if something was decided."""
    return (_mode(now), _rules(now), *([_decisions(now)] if now.decisions else ()))


def _mode(now: Situation) -> Report:
    book = now.in_force
    bypasses = book.mode == "bypassPermissions"
    rows = (
        ("Mode", book.mode),
        ("Set by", book.mode_origin),
        ("Acting without asking", _ON_UNASKED.get(now.settings.on_unasked, now.settings.on_unasked)),
    )
    meaning = MODES.get(book.mode, "")
    words = f"{meaning[:1].upper()}{meaning[1:]}. %permissions mode NAME changes it for this conversation."
    return Report("Permissions", rows=rows, note=BYPASSING if bypasses else words, alarms=bypasses)


def _rules(now: Situation) -> Report:
    book = now.in_force
    rows = tuple((each.kind, each.text, each.origin) for each in book.stated)
    doubts = " ".join((*book.problems, *book.warnings))
    if not rows:
        return Report("Rules", note=f"No rule is set. {_CHANGE}")
    return Report("Rules", ("", "Rule", "From"), rows, doubts or _CHANGE, warns=bool(doubts))


def _decisions(now: Situation) -> Report:
    rows = tuple((str(each.number), each.what, each.outcome, each.by, each.rule, each.reason) for each in now.decisions)
    missing = now.decisions[0].number - 1
    note = f"The {missing} before these are no longer kept." if missing else ""
    return Report("Decisions", ("", "About", "Decision", "By", "Rule", "Why"), rows, note)
