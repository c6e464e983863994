"""A cell that is run again after its last turn changed files: what it says, and the answer in a saved notebook."""

from __future__ import annotations

from collections.abc import Sequence

from ..conversation.model import Notice
from .entry import render_notice, render_text
from .markup import Bundle, bundle, escape, pre
from .plain import first_of, one_line

MAX_NAMED_CHANGES = 3
HOW_TO_SEND = "To send the prompt again, change it or set COPILOT_KERNEL_RERUN=run."


def changed_words(files: Sequence[str]) -> str:
    """Name the files, as a sentence without its end."""
    return f"This prompt changed {first_of(map(one_line, files), MAX_NAMED_CHANGES)} last time"


def render_sent(files: Sequence[str]) -> Bundle:
    """The line of a prompt that is sent again while `files` are as its last turn left them."""
    return _line(f"{changed_words(files)}. This run starts from the changed file{'s' * (len(files) > 1)}.")


def render_kept(files: Sequence[str], setting: str, *, is_recorded: bool) -> Bundle:
    """The line of a prompt that is not sent; `setting` says why. The old answer stands below if `is_recorded`."""
    answer = "Its answer is below." if is_recorded else "Its answer is not recorded."
    return _line(f"Not sent ({setting}). {changed_words(files)}.", f"{answer} {HOW_TO_SEND}")


def render_saved(data: Bundle) -> Bundle:
    """An output of a saved notebook, which anybody may have written: only its text counts.

    What an agent said looks as it did, if the HTML is what this text gives; anything else is preformatted.
    """
    text = data.get("text/plain", "")
    text = text if isinstance(text, str) else ""
    answer = render_text("agent", text)
    return answer if answer == data else bundle(pre(escape(text)) if text else "", text)


def _line(title: str, description: str = "") -> Bundle:
    return render_notice(Notice(-1, 0, "info", title, description))
