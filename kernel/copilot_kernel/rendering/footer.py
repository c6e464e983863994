"""The quiet line beneath an answer."""

from __future__ import annotations

from .markup import AMBER, RED, Bundle, bundle, muted, span
from .plain import one_line

_REASONS = {
    "max_tokens": "stopped: the answer reached its longest length",
    "max_turn_requests": "stopped: too many requests in one turn",
    "refusal": "the agent refused to go on",
    "cancelled": "cancelled",
}


def render_footer(
    *,
    agent: str,
    model: str = "",
    mode: str = "",
    permission_mode: str = "default",
    unasked: int = 0,
    stop_reason: str = "end_turn",
    used: int | None = None,
    size: int | None = None,
    seconds: float | None = None,
    person_present: bool = False,
) -> Bundle | None:
    """Who answered, why it stopped if not by itself, context used (tokens); the time only if somebody is there,
    since the output of batch runs is compared. None if there is nothing to say.

    `permission_mode` is our own, and told if it is not the default; `unasked` counts what was done without asking.
    """
    said = [one_line(agent), one_line(model), one_line(mode), _context(used, size)]
    if person_present and seconds is not None:
        said.append(_time(seconds))
    quiet = " · ".join(filter(None, said))
    loud = [(_reason(stop_reason), AMBER), (_unasked(unasked), RED), _permissions(permission_mode)]
    told = [(words, colour) for words, colour in loud if words]
    if not quiet and not told:
        return None
    html = " · ".join(span(words, f"color:{colour}") for words, colour in told)
    text = " · ".join(filter(None, (*(words for words, _ in told), quiet)))
    return bundle(
        f'<div style="font-size:85%;margin-top:4px">{" ".join(filter(None, (html, muted(quiet))))}</div>', text
    )


def _reason(stop_reason: str) -> str:
    return "" if stop_reason == "end_turn" else _REASONS.get(stop_reason, f"stopped: {one_line(stop_reason)}")


def _unasked(count: int) -> str:
    return f"⚠ {count} ran without asking" if count else ""


def _permissions(mode: str) -> tuple[str, str]:
    """In which nobody is asked about anything is red."""
    words = "" if mode == "default" else f"permissions: {one_line(mode)}"
    return words, RED if mode == "bypassPermissions" else AMBER


def _context(used: int | None, size: int | None) -> str:
    if not used or used < 0:
        return ""
    share = f"{100 * used // size} % of {_thousands(size)}" if size and size > 0 else _thousands(used)
    return f"context {share}"


def _thousands(count: int) -> str:
    return f"{count / 1000:.0f}k" if count >= 1000 else str(count)


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
