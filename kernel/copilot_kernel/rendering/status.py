"""The line that says what a running turn is doing. Cheap to import: it is shown before anything else."""

from __future__ import annotations

from .markup import AMBER, Bundle, bundle, muted, row, span
from .plain import one_line

ASKING = "?"
"""Mark with which a status begins that waits for the user."""
STARTING = "Starting the agent…"


def render_status(words: str) -> Bundle:
    """Render the activity of a running turn as one line; one that begins with "?" waits for the user and stands out."""
    if words.startswith(ASKING):
        return bundle(row(span(words, f"color:{AMBER};font-weight:bold")), one_line(words))
    return bundle(row(muted(f"◐ {words}")), f"◐ {one_line(words)}")
