"""The line that says what a running turn is doing. Cheap to import: it is shown before anything else."""

from __future__ import annotations

from .markup import AMBER, Bundle, bundle, muted, row, span
from .plain import one_line

ASKING = "?"
"""What a status that waits for the user begins with."""
STARTING = "Starting the agent…"
LAST_SEEN = "Last seen:"
"""So that the line is still true where nothing follows; pages that show what follows hide it."""


def render_status(words: str) -> Bundle:
    """What a running turn is doing, as one line; one that begins with "?" waits for the user and stands out."""
    words = one_line(words)
    last_seen = f'<span class="copilot-last-seen">{muted(LAST_SEEN)}</span>'
    if words.startswith(ASKING):
        return bundle(row(last_seen, span(words, f"color:{AMBER};font-weight:bold")), f"{LAST_SEEN} {words}")
    return bundle(row(last_seen, muted(f"◐ {words}")), f"{LAST_SEEN} ◐ {words}")
