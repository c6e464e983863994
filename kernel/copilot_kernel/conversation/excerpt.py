"""Place of a diff in its file, for display: agents send only the part that changes, without line numbers."""

from __future__ import annotations

from dataclasses import dataclass

from ..acp.messages import Diff

CONTEXT = 3
"""Lines before and after the change."""
MAX_CONTEXT_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Whole lines of the file before and after the texts of a diff; `before` begins at `line`."""

    line: int
    before: str
    after: str


def find_excerpt(diff: Diff, text: str, *, is_done: bool) -> Excerpt | None:
    """Find `diff` in the file's `text`; None unless it is there exactly once.

    `is_done` decides only where the old and the new text are both there, and neither is a part of the other.
    """
    old, new = diff.old_text or "", diff.new_text
    if "\r" not in old + new:
        text = text.replace("\r\n", "\n")
    found = new if _holds_new(old, new, text, is_done=is_done) else old
    start = text.find(found)
    if not old or not found or start < 0 or text.find(found, start + 1) >= 0:
        return None
    first, last = lines_above(text, start), _line_end(text, start + len(found))
    before, after = text[first:start], text[start + len(found) : last]
    if len(before) + len(after) > MAX_CONTEXT_CHARS:
        return None
    return Excerpt(text.count("\n", 0, first) + 1, before, after)


def _holds_new(old: str, new: str, text: str, *, is_done: bool) -> bool:
    if new in old:
        return old not in text
    if old in new or old not in text:
        return new in text
    return is_done and new in text


def lines_above(text: str, at: int) -> int:
    """The start of the line that is CONTEXT lines above the one with character `at`."""
    at = text.rfind("\n", 0, at) + 1
    for _ in range(CONTEXT):
        at = text.rfind("\n", 0, max(at - 1, 0)) + 1
    return at


def _line_end(text: str, at: int) -> int:
    """The end of the line that is CONTEXT lines below; if `at` is the start of a line, the one above counts."""
    for _ in range(CONTEXT if text[at - 1] == "\n" else CONTEXT + 1):
        at = text.find("\n", at) + 1 or len(text)
    return at
