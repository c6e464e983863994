"""What somebody said; a thought is folded."""

from __future__ import annotations

from ..acp.messages import Speaker
from ..conversation.model import Message
from .markdown import to_html
from .markup import NO_MATHS, Bundle, bundle, escape, fold, muted, pre
from .plain import clean, one_line

_PREVIEW = 90


def render_message(message: Message) -> Bundle:
    """The whole message in one bundle."""
    return render_text(message.speaker, str(message.text))


def render_text(speaker: Speaker, source: str, html: str | None = None) -> Bundle:
    """`source` (markdown) as `speaker` said it; `html` is its HTML, if that was made already."""
    match speaker:
        case "thought":
            return bundle(_thought_html(source, html), _thought_text(source))
        case "user":
            return bundle(pre(escape(source)), _quoted(source))
        case _:
            return bundle(to_html(source) if html is None else html, clean(source).strip("\n"))


def _quoted(source: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in clean(source).split("\n"))


def _thought_html(source: str, html: str | None) -> str:
    body = to_html(source) if html is None else html
    summary = f'<span class="{NO_MATHS}">{muted("Thinking")} {muted(_preview(source))}</span>'
    return fold(summary, f'<div style="margin-left:10px;opacity:0.8">{body}</div>')


def _preview(source: str) -> str:
    """The first line, so that a closed thought says what it is about."""
    first = one_line(next(iter(source.strip().splitlines()), "")).strip("*#_` ")
    return f"· {first[:_PREVIEW]}{'…' * (len(first) > _PREVIEW)}" if first else ""


def _thought_text(source: str) -> str:
    return "\n".join(("Thinking:", *(f"  {line}".rstrip() for line in clean(source).strip("\n").split("\n"))))
