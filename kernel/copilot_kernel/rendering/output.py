"""What came out of a tool: lines, folded when there are many, and never cut without saying so."""

from __future__ import annotations

from .ansi import ansi_html, ansi_text
from .markup import escape, fold, muted, pre

SHORT = 12
"""Lines that are shown without a click."""
LONG = 60
"""Lines that are shown in a terminal, where nothing can be folded."""
LAST = 10
"""Lines that are shown where the output is not what the reader asked for."""
MOST = 100_000
"""Characters; of a longer text the beginning and the end are shown."""
_SUMMARY = 80


def shortened(text: str, most: int = MOST) -> str:
    """`text`, or its two ends with the number of characters that are left out between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters not shown …\n{text[-half:]}"


def output_html(text: str, name: str = "output", short: int = SHORT) -> str:
    """A terminal's text as HTML; beyond `short` lines folded, with the last one in the summary."""
    text = text.rstrip("\n")
    if not text.strip():
        return ""
    count = text.count("\n") + 1
    body = pre(ansi_html(shortened(text)))
    return body if count <= short else fold(f"{escape(name)} {muted(_counted(count))}{_last(text)}", body)


def output_text(text: str, long: int = LONG) -> str:
    """The same for a terminal: beyond `long` lines the first and the last ones."""
    lines = ansi_text(shortened(text.rstrip("\n"))).split("\n")
    if len(lines) > long:
        half = long // 2
        lines[half:-half] = [f"… {_counted(len(lines) - 2 * half)} not shown …"]
    return "\n".join(lines)


def output_end(text: str, most: int = LAST) -> str:
    """The last lines, for a terminal that has shown what the call was."""
    lines = ansi_text(shortened(text.rstrip("\n"))).split("\n")
    if len(lines) > most:
        lines[:-most] = [f"… {_counted(len(lines) - most)} not shown …"]
    return "\n".join(lines)


def _counted(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"


def _last(text: str) -> str:
    last = ansi_text(text[-1000:].rsplit("\n", 1)[-1]).strip()
    short = last[:_SUMMARY] + "…" * (len(last) > _SUMMARY)
    return muted(f" · … {short}") if short else ""
