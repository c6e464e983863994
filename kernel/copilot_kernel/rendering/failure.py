"""An error as a card: what happened, what to do next, commands to copy; folded, what a developer asks for."""

from __future__ import annotations

import shlex
from itertools import groupby
from textwrap import dedent

from ..acp.messages import AuthMethod
from ..errors import AgentNotFound, AgentRefused, AuthRequired, CopilotError, ModelFailed
from .markup import (
    COMMAND,
    FAILURE,
    NO_AGENT,
    RED,
    Bundle,
    bundle,
    card,
    code,
    escape,
    fold,
    lines,
    muted,
    pre,
    row,
    span,
)
from .output import ansi_text, shortened
from .plain import one_line, prose
from .raw import as_json
from .report import CELL, Wording

_DETAILS = "Technical details"


def render_failure(error: CopilotError, wording: Wording = CELL) -> Bundle:
    """The card for `error`, in the words of the front end that shows it."""
    hint = wording.adapt(error.hint)
    methods: tuple[AuthMethod, ...] = error.methods if isinstance(error, AuthRequired) else ()
    again = f"Then {wording.retry}." if isinstance(error, AuthRequired) else ""
    details = ansi_text(_details(error))
    html = lines((
        row(span("✗", f"color:{RED}"), span(error.title, "font-weight:bold")),
        _hint_html(hint),
        *map(_sign_in_html, methods),
        row(escape(again)) if again else "",
        fold(muted(_DETAILS), pre(escape(details))) if details else "",
    ))  # fmt: skip
    folded = f"{_DETAILS}:\n{prose(details)}" if details else ""
    text = (f"✗ {prose(error.title)}", prose(hint), *map(_sign_in_text, methods), again, folded)
    name = f"{FAILURE} {NO_AGENT}" if isinstance(error, AgentNotFound) else FAILURE
    return bundle(card(html, RED, name), lines(text))


def _sign_in_html(method: AuthMethod) -> str:
    command = pre(escape(shlex.join(method.command)), kind=COMMAND) if method.command else ""
    return row(_with_code(_sign_in_words(method))) + command


def _sign_in_text(method: AuthMethod) -> str:
    return lines((_sign_in_words(method), f"  {prose(shlex.join(method.command))}" if method.command else ""))


def _sign_in_words(method: AuthMethod) -> str:
    parts = filter(None, (one_line(method.name or method.id), one_line(method.description)))
    return " ".join(part if part.endswith((".", "!", "?", ":")) else f"{part}." for part in parts)


def _hint_html(hint: str) -> str:
    """Line by line; indented lines are commands, as a block that is easy to copy; `%` begins one for a cell."""
    parts = []
    for is_command, part in groupby(hint.splitlines(), key=lambda line: line.startswith(" ")):
        if is_command:
            commands = dedent("\n".join(part))
            parts.append(pre(escape(commands), kind="" if commands.startswith("%") else COMMAND))
        else:
            parts.append("".join(f"<div>{_with_code(line)}</div>" for line in part))
    return lines(parts)


def _with_code(hint: str) -> str:
    return "".join(code(part) if index % 2 else escape(part) for index, part in enumerate(hint.split("`")))


def _details(error: CopilotError) -> str:
    """What is not in the title: the agent's last lines on stderr, its whole message, or its error answer."""
    match error:
        case AuthRequired():
            parts = [str(error)]
        case AgentRefused():
            reply = error.method if error.code is None else f"{error.method}: error {error.code}"
            parts = [reply, str(error), "" if error.data is None else as_json(error.data)]
        case ModelFailed():
            parts = [error.report.strip()]
        case _:
            parts = [str(getattr(error, "stderr", "")).strip("\n") or str(error)]
    return shortened(lines(part for part in parts if part.strip() != error.title))
