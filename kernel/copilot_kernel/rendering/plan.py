"""The agent's plan as a list of boxes."""

from __future__ import annotations

from ..acp.messages import PlanEntry
from ..conversation.model import Plan
from .markup import AMBER, BLUE, GREEN, GREY, Bundle, bundle, card, escape, lines, muted, row, span
from .plain import one_line

_BOXES = {"pending": ("☐", GREY), "in_progress": ("◐", BLUE), "completed": ("☑", GREEN)}


def render_plan(plan: Plan) -> Bundle:
    """One line for each step; a high priority is said, the others are not."""
    done = sum(entry.status == "completed" for entry in plan.entries)
    count = f"{done} of {len(plan.entries)} done" if plan.entries else "empty"
    html = row(span("Plan", "font-weight:bold"), muted(count), escape(plan.description))
    head = " ".join(filter(None, (f"Plan ({count})", one_line(plan.description))))
    steps = "".join(map(_step_html, plan.entries))
    return bundle(card(html + steps), lines((head, *map(_step_text, plan.entries))))


def _step_html(entry: PlanEntry) -> str:
    box, colour = _box(entry)
    text = muted(entry.content) if entry.status == "completed" else escape(entry.content)
    high = span("high priority", f"color:{AMBER}") if entry.priority == "high" else ""
    said = f'title="{escape(entry.status)}" aria-label="{escape(entry.status)}"'
    return row(f'<span style="color:{colour}" {said}>{box}</span>', text, high)


def _step_text(entry: PlanEntry) -> str:
    return f"{_box(entry)[0]} {one_line(entry.content)}{' (high priority)' * (entry.priority == 'high')}"


def _box(entry: PlanEntry) -> tuple[str, str]:
    return _BOXES.get(entry.status, ("☐", GREY))
