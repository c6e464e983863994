"""The quiet line beneath an answer."""

from __future__ import annotations

from .markup import AMBER, Bundle, bundle, muted, span
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
    stop_reason: str = "end_turn",
    used: int | None = None,
    size: int | None = None,
    seconds: float | None = None,
    person_present: bool = False,
) -> Bundle | None:
    """Who answered, why it stopped if not by itself, context used (tokens); the time only if somebody is there,
    since the output of batch runs is compared. None if there is nothing to say."""
    said = [one_line(agent), one_line(model), one_line(mode), _context(used, size)]
    if person_present and seconds is not None:
        said.append(_time(seconds))
    quiet = " · ".join(filter(None, said))
    reason = "" if stop_reason == "end_turn" else _REASONS.get(stop_reason, f"stopped: {one_line(stop_reason)}")
    if not quiet and not reason:
        return None
    html = " ".join(filter(None, (span(reason, f"color:{AMBER}") if reason else "", muted(quiet))))
    return bundle(f'<div style="font-size:85%;margin-top:4px">{html}</div>', " · ".join(filter(None, (reason, quiet))))


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
