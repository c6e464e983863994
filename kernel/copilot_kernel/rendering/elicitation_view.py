"""An agent's form, or a link that it wants opened: as a person must see it, filled in line by line, and answered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from urllib.parse import urlsplit

from ..acp.elicitation import Elicitation, ElicitationAnswer, FieldChoice, FormField, Value
from ..conversation.form import Entered, InputError, check, looks_secret
from .markup import (
    AMBER,
    ASKED,
    BLUE,
    GREY,
    RED,
    UNDERLINED,
    Bundle,
    Shown,
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
from .question import OPEN
from .typed_answer import find_index, read_line

SECRET = "This seems to ask for a password or key. Don't enter one: the agent and this notebook would keep it."
NOT_OPENED = "Nothing opens by itself: open the link if you trust it, then say here whether you agreed."
UNSAFE = "This is not a web address: opening it may start a program on your computer."
HIDDEN = "•••"
_MAX_VALUE_CHARS = 80
_WEB = re.compile(r"https?://[^\s\"'<>]+\Z", re.IGNORECASE)
_BEGIN = {"form": "1) Answer  2) Decline: ", "url": "1) Agree  2) Decline: "}
_BEGIN_ANSWERS = {
    **dict.fromkeys(("1", "answer", "agree", "yes", "y"), True),
    **dict.fromkeys(("2", "decline", "no", "n"), False),
}
_FORMATS = {
    "email": "an e-mail address",
    "uri": "a URL with its scheme, such as https://example.org",
    "date": "a date, such as 2026-01-31",
    "date-time": "a time with its time zone, such as 2026-01-31T12:00:00Z",
}
_KINDS = {"number": "a number", "integer": "a whole number"}
_HOW_TO_TYPE = {"boolean": "y or n", "choices": "numbers separated by commas"}
_YES, _NO = frozenset({"y", "yes", "true", "1"}), frozenset({"n", "no", "false", "0"})


def render_elicitation(request: Elicitation) -> Bundle:
    """The request without its inputs and buttons, as it is kept in a notebook; the fields show only without inputs."""
    body = "".join(part.html for part in (*_parts(request), *_warnings(request)))
    fields = "".join(part.html for part in _fields(request))
    html = card(body + without_buttons(fields + muted(OPEN)), AMBER, ASKED)
    return bundle(html, f"{elicitation_text(request)}\n{OPEN}")


def elicitation_text(request: Elicitation) -> str:
    """The request for a terminal."""
    return lines(part.text for part in (*_parts(request), *_fields(request), *_warnings(request)))


def hint(field: FormField) -> str:
    """Say what may be entered into a field: its description, its bounds, and whether it is required."""
    limits = (
        "required" if field.required else "",
        _KINDS.get(field.kind) or _FORMATS.get(field.format, one_line(field.format)),
        _bounds(field) or ("choose any number" if field.kind == "choices" else ""),
        f"must match {field.pattern} (checked by the agent)" if field.pattern else "",
    )
    return " · ".join(filter(None, (field.description.strip(), ", ".join(filter(None, limits)))))


def choice_text(choice: FieldChoice) -> str:
    """One value of a list, with its meaning."""
    title = one_line(choice.title) or one_line(choice.value) or "(empty)"
    return f"{title}: {one_line(choice.description)}" if choice.description else title


def answer_line(request: Elicitation, answer: ElicitationAnswer) -> str:
    """The answer in one line; what looks like a secret is not repeated."""
    why = f" ({one_line(answer.reason)})" if answer.reason else ""
    match answer.action:
        case "accept" if request.mode == "url":
            return f"Agreed to open {one_line(request.url)}{why}"
        case "accept":
            filled = "; ".join(_filled(request, answer))
            return f"Answered{why}: {filled}" if filled else f"Answered{why}"
        case "decline":
            return f"Declined{why}"
        case "cancel":
            return f"Cancelled{why}"


def _parts(request: Elicitation) -> Iterator[Shown]:
    head = "The agent asks you to open a link:" if request.mode == "url" else "The agent asks you:"
    message = f'<span style="font-weight:bold;white-space:pre-wrap">{exposed(request.message)}</span>'
    html = row(span("?", f"color:{AMBER};font-weight:bold"), head, message)
    yield Shown(html, f"{head} {visible_text(request.message or '(no reason given)')}")
    for words in filter(None, (request.title, request.description)):
        yield Shown(f'<div style="white-space:pre-wrap">{exposed(words)}</div>', visible_text(words))
    if request.mode == "url":
        yield Shown(pre(_link(request.url)), f"  {visible_text(request.url)}")
        # The host is shown apart, since an address may begin with what looks like another one.
        host = _host(request.url)
        for words in (*([f"Leads to {host}"] if host else ()), NOT_OPENED):
            yield Shown(f'<div style="color:{GREY}">{exposed(words)}</div>', visible_text(words))


def _fields(request: Elicitation) -> Iterator[Shown]:
    for field in request.fields:
        label, limits = one_line(field.label), hint(field)
        html = row(f'<span style="font-weight:bold">{exposed(label)}</span>', muted(limits))
        yield Shown(html, visible_text(f"  {': '.join(filter(None, (label, one_line(limits))))}"))
        for words in map(choice_text, field.choices):
            yield Shown(f'<div style="margin-left:20px">{exposed(words)}</div>', visible_text(f"    - {words}"))


def _warnings(request: Elicitation) -> Iterator[Shown]:
    unsafe = request.mode == "url" and not _WEB.match(request.url)
    skipped = visible_text(one_line(", ".join(request.skipped)))
    warnings = (
        UNSAFE if unsafe else "",
        SECRET if any(map(looks_secret, request.fields)) else "",
        f"Fields that this client cannot show: {skipped}" if request.skipped else "",
    )
    for words in filter(None, warnings):
        yield Shown(f'<div style="color:{RED}">{escape(words)}</div>', words)


def _link(url: str) -> str:
    """The whole address; a link if it is a web address and nothing hides in it."""
    if not _WEB.match(url) or visible_text(url) != url:
        return exposed(url)
    look = f"color:{BLUE};{UNDERLINED}"
    return (
        f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer nofollow" style="{look}">{escape(url)}</a>'
    )


def _host(url: str) -> str:
    """Return the host as a browser takes it; names in other scripts also in ASCII, so that lookalikes show."""
    try:
        host = urlsplit(url).hostname or ""
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        return ""
    return host if host == ascii_host else f"{host} ({ascii_host})"


def _bounds(field: FormField) -> str:
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
            value = HIDDEN if looks_secret(field) else _value_text(field, answer.content[field.name])
            yield f"{one_line(field.label)}: {value}"


def _value_text(field: FormField, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    titles = {choice.value: one_line(choice.title) or choice.value for choice in field.choices}
    values = value if isinstance(value, tuple) else (value,)
    shown = one_line(", ".join(titles.get(str(each), str(each)) for each in values))
    return shown if len(shown) <= _MAX_VALUE_CHARS else f"{shown[: _MAX_VALUE_CHARS - 1]}…"


# -- line by line ----------------------------------------------------------------------------------------------------


async def interview(request: Elicitation, ask: Callable[[str], Awaitable[str]]) -> ElicitationAnswer:
    """Ask for one request line by line, where there are no widgets. Raises EOFError at the end of input, as `ask`."""
    values: dict[str, Value] = {}
    if not await read_line(ask, _BEGIN.get(request.mode, _BEGIN["form"]), _agrees):
        return ElicitationAnswer("decline")
    for field in request.fields:
        value = await read_line(ask, _field_prompt(field), partial(_value, field))
        if value is not None:
            values[field.name] = value
    return ElicitationAnswer("accept", values)


def _agrees(line: str) -> bool:
    word = line.strip().casefold()
    if word not in _BEGIN_ANSWERS:
        raise InputError("Type 1 or 2.")
    return _BEGIN_ANSWERS[word]


def _value(field: FormField, line: str) -> Value | None:
    if not line.strip() and field.default is not None:
        return field.default
    return check(field, _read(field, line))


def _field_prompt(field: FormField) -> str:
    label = visible_text(one_line(field.label)) or "(no name)"
    limits = visible_text(one_line(hint(field)))
    choices = "  ".join(f"{number}) {visible_text(choice_text(each))}" for number, each in enumerate(field.choices, 1))
    default = "" if field.default is None else f"default: {visible_text(_value_text(field, field.default))}"
    extra = "; ".join(filter(None, (limits, _HOW_TO_TYPE.get(field.kind, ""), default)))
    return f"{label}{f' ({extra})' if extra else ''}{f' {choices}' if choices else ''}: "


def _read(field: FormField, line: str) -> Entered:
    """A typed line as what was entered. Raises InputError."""
    typed = line.strip()
    match field.kind:
        case "text":
            return line.rstrip("\n")
        case "boolean":
            if typed and typed.casefold() not in _YES | _NO:
                raise InputError("Type y or n.")
            return typed.casefold() in _YES if typed else ""
        case "choice" | "choices":
            parts = typed.split(",") if field.kind == "choices" else [typed]
            return tuple(dict.fromkeys(_choice_index(field, part.strip()) for part in parts if part.strip()))
        case _:
            return typed


def _choice_index(field: FormField, typed: str) -> int:
    """Return the index of a choice, by number, or by a value or title that only one has."""
    values, titles = [choice.value for choice in field.choices], [one_line(choice.title) for choice in field.choices]
    index = find_index(typed, values, titles)
    if index is None:
        raise InputError(f"Type a number from 1 to {len(field.choices)}.")
    return index
