"""A form of the agent's, or an address that it wants visited, as a person must see it, and what was decided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from ..acp.elicitation import Choice, Elicitation, ElicitationAnswer, Field, Value
from ..conversation.form import looks_secret
from .markup import (
    AMBER,
    ASKED,
    BLUE,
    GREY,
    RED,
    Bundle,
    bundle,
    card,
    escape,
    exposed,
    lines,
    muted,
    pre,
    row,
    span,
    without_buttons,
)
from .plain import one_line, visible_text
from .reasons import OPEN

SECRET = "This looks like a password or a key. Do not enter one here: the agent and this notebook would keep it."
UNOPENED = "Nothing is opened by itself: visit it if you trust it, and say here whether you agreed."
UNSAFE = "This is no address of the web: it may start a program on your computer."
HIDDEN = "•••"
_WEB = re.compile(r"https?://[^\s\"'<>]+\Z", re.IGNORECASE)
_LONGEST_VALUE = 80
_FORMATS = {
    "email": "an e-mail address",
    "uri": "an address with its scheme, such as https://example.org",
    "date": "a date, such as 2026-01-31",
    "date-time": "a time with its zone, such as 2026-01-31T12:00:00Z",
}
_KINDS = {"number": "a number", "integer": "a whole number"}


def render_elicitation(request: Elicitation) -> Bundle:
    """The request without its inputs and buttons, as it is kept in a notebook; above inputs no field is told twice."""
    fields = "".join(map(_field_html, request.fields))
    body = _head_html(request) + "".join(_parts_html(request)) + without_buttons(fields + muted(OPEN))
    return bundle(card(body, AMBER, ASKED), f"{elicitation_text(request)}\n{OPEN}")


def elicitation_text(request: Elicitation) -> str:
    """What is asked for, for a terminal."""
    return lines((_head(request), *_parts_text(request)))


def hint(field: Field) -> str:
    """What may be entered into a field: its description, its bounds, and whether it must be filled in."""
    wanted = (
        "required" if field.required else "",
        _KINDS.get(field.kind) or _FORMATS.get(field.format, one_line(field.format)),
        _bounds(field) or ("any number of these" if field.kind == "choices" else ""),
        f"in the form {field.pattern} (the agent checks that)" if field.pattern else "",
    )
    return " · ".join(filter(None, (field.description.strip(), ", ".join(filter(None, wanted)))))


def choice_text(choice: Choice) -> str:
    """One value of a list, with what it means."""
    title = one_line(choice.title) or one_line(choice.value) or "(empty)"
    return f"{title}: {one_line(choice.description)}" if choice.description else title


def answer_line(request: Elicitation, answer: ElicitationAnswer) -> str:
    """What was decided, in one line; what looks like a secret is not repeated."""
    why = f" ({one_line(answer.reason)})" if answer.reason else ""
    match answer.action:
        case "accept" if request.mode == "url":
            return f"Agreed to visit {one_line(request.url)}{why}"
        case "accept":
            filled = "; ".join(_filled(request, answer))
            return f"Answered{why}: {filled}" if filled else f"Answered{why}"
        case "decline":
            return f"Declined{why}"
        case "cancel":
            return f"Cancelled{why}"


def _head(request: Elicitation) -> str:
    return f"The agent {_asks(request)}: {visible_text(request.message or 'it does not say why')}"


def _head_html(request: Elicitation) -> str:
    message = f'<span style="font-weight:bold;white-space:pre-wrap">{exposed(request.message)}</span>'
    return row(span("?", f"color:{AMBER};font-weight:bold"), f"The agent {_asks(request)}:", message)


def _asks(request: Elicitation) -> str:
    return "asks you to visit an address" if request.mode == "url" else "asks you"


def _parts_html(request: Elicitation) -> Iterator[str]:
    for words in filter(None, (request.title, request.description)):
        yield f'<div style="white-space:pre-wrap">{exposed(words)}</div>'
    if request.mode == "url":
        yield pre(_link(request.url))
        yield from (f'<div style="color:{GREY}">{exposed(words)}</div>' for words in _about(request.url))
    yield from (f'<div style="color:{RED}">{escape(warning)}</div>' for warning in _warnings(request))


def _link(url: str) -> str:
    """The whole address; a link if it is one of the web and nothing hides in it."""
    if not _WEB.match(url) or visible_text(url) != url:
        return exposed(url)
    look = f"color:{BLUE};text-decoration:underline"
    return (
        f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer nofollow" style="{look}">{escape(url)}</a>'
    )


def _about(url: str) -> Iterator[str]:
    """The host apart, since an address may begin with what looks like another one."""
    if host := _host(url):
        yield f"It leads to {host}"
    yield UNOPENED


def _host(url: str) -> str:
    """As a browser takes it; names in other scripts also as they are sent, so that lookalikes show."""
    try:
        host = urlsplit(url).hostname or ""
        sent = host if host.isascii() else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        return ""
    return host if host == sent else f"{host} ({sent})"


def _field_html(field: Field) -> str:
    head = row(f'<span style="font-weight:bold">{exposed(one_line(field.label))}</span>', muted(hint(field)))
    choices = "".join(f'<div style="margin-left:20px">{exposed(choice_text(each))}</div>' for each in field.choices)
    return head + choices


def _parts_text(request: Elicitation) -> Iterator[str]:
    yield from (visible_text(words) for words in (request.title, request.description))
    if request.mode == "url":
        yield f"  {visible_text(request.url)}"
        yield from map(visible_text, _about(request.url))
    for field in request.fields:
        yield visible_text(f"  {': '.join(filter(None, (one_line(field.label), one_line(hint(field)))))}")
        yield from (visible_text(f"    - {choice_text(each)}") for each in field.choices)
    yield from _warnings(request)


def _warnings(request: Elicitation) -> Iterator[str]:
    if request.mode == "url" and not _WEB.match(request.url):
        yield UNSAFE
    if any(map(looks_secret, request.fields)):
        yield SECRET
    if request.skipped:
        yield visible_text(f"This client cannot ask for: {one_line(', '.join(request.skipped))}")


def _bounds(field: Field) -> str:
    unit = {"text": " characters", "choices": " of these"}.get(field.kind, "")
    least, most = field.least, field.most
    if least is not None and most is not None:
        return f"{least} to {most}{unit}"
    if least is not None:
        return f"at least {least}{unit}"
    return f"at most {most}{unit}" if most is not None else ""


def _filled(request: Elicitation, answer: ElicitationAnswer) -> Iterator[str]:
    for field in request.fields:
        if field.name in answer.content:
            value = HIDDEN if looks_secret(field) else _shown(field, answer.content[field.name])
            yield f"{one_line(field.label)}: {value}"


def _shown(field: Field, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    titles = {choice.value: one_line(choice.title) or choice.value for choice in field.choices}
    values = value if isinstance(value, tuple) else (value,)
    shown = one_line(", ".join(titles.get(str(each), str(each)) for each in values))
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"
