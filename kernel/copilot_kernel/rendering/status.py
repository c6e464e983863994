"""The line that says what a running turn is doing. Cheap to import: it is shown before anything else."""

from __future__ import annotations

from .markup import AMBER, Bundle, bundle, muted, row, span
from .plain import one_line

ASKING = "?"
"""Mark with which a status begins that waits for the user."""
STARTING = "Starting the agent…"
LAST_SEEN = "Last seen:"
"""Prefix that keeps the line true where nothing follows; pages that show what follows hide it."""


def render_status(words: str) -> Bundle:
    """Render the activity of a running turn as one line; one that begins with "?" waits for the user and stands out."""
    words = one_line(words)
    last_seen = f'<span class="copilot-last-seen">{muted(LAST_SEEN)}</span>'
    if words.startswith(ASKING):
        return bundle(row(last_seen, span(words, f"color:{AMBER};font-weight:bold")), f"{LAST_SEEN} {words}")
    return bundle(row(last_seen, muted(f"◐ {words}")), f"{LAST_SEEN} ◐ {words}")
