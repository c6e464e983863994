"""Any entry of the conversation as a MIME bundle; several small ones in one bundle."""

from __future__ import annotations

from collections.abc import Iterable

from ..conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from .attachment import attachment_html, render_attachment
from .markup import Bundle, bundle, lines
from .message import render_message
from .notice import render_notice
from .plan import render_plan
from .tool_call import render_tool_call


def render(entry: Entry, cwd: str = "") -> Bundle:
    """`entry` as it stands, complete; paths inside `cwd` are shown relative to it."""
    match entry:
        case Message():
            return render_message(entry)
        case Attachment():
            return render_attachment(entry)
        case ToolCall():
            return render_tool_call(entry, cwd)
        case Plan():
            return render_plan(entry)
        case Notice():
            return render_notice(entry)


def render_group(entries: Iterable[Entry], cwd: str = "") -> Bundle:
    """Entries in a row, one below the other; images stand in the HTML."""
    found = [(entry, render(entry, cwd)) for entry in entries]
    return bundle(lines(_html(*one) for one in found), lines(one["text/plain"] for _, one in found))


def _html(entry: Entry, found: Bundle) -> str:
    if "text/html" not in found and isinstance(entry, Attachment):
        return attachment_html(entry.block)
    return str(found["text/html"])
