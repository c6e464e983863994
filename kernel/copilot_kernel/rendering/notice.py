"""A line for the user, and JSON that we could not read beneath it."""

from __future__ import annotations

from ..conversation.model import Notice
from .markup import (
    AMBER,
    BLUE,
    GREY,
    LINE,
    RED,
    Bundle,
    bundle,
    card,
    escape,
    exposed,
    fold,
    lines,
    muted,
    pre,
    row,
    span,
)
from .output import shortened
from .plain import clean, one_line, visible_line, visible_text
from .raw import as_json

_MARKS = {"info": ("ℹ", BLUE), "warning": ("⚠", AMBER), "error": ("✗", RED)}


def render_notice(notice: Notice) -> Bundle:
    """Mark, severity in words unless it is only information, title, description, raw JSON folded."""
    mark, colour = _MARKS.get(notice.severity, ("•", GREY))
    word = notice.severity if notice.severity in ("warning", "error") else ""
    json = shortened(as_json(notice.raw)) if notice.raw is not None else ""
    title = visible_line(notice.title) if notice.about.startswith("refused ") else one_line(notice.title)
    html = lines((
        row(span(f"{mark} {word}".strip(), f"color:{colour}"), escape(title)),
        f"<div>{muted(notice.description)}</div>" if notice.description else "",
        fold(muted("as it came"), pre(exposed(json))) if json else "",
    ))  # fmt: skip
    head = " ".join(filter(None, (mark, f"{word}:" if word else "", title)))
    return bundle(card(html, colour if word else LINE), lines((head, clean(notice.description), visible_text(json))))
