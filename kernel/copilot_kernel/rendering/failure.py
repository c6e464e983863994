"""An error as a card: what happened, what to do next, commands to copy; folded, what a developer asks for."""

from __future__ import annotations

import shlex
from itertools import groupby
from textwrap import dedent

from ..acp.messages import AuthMethod
from ..conversation.raw import as_json
from ..errors import AgentNotFound, AgentRefused, AuthRequired, CopilotError, ModelFailed
from .markup import (
    CELL_COMMAND,
    COMMAND,
    FAILURE,
    NO_AGENT,
    RED,
    Bundle,
    Shown,
    bundle,
    card,
    escape,
    fold,
    lines,
    muted,
    pre,
    row,
    span,
    with_code,
)
from .output import ansi_text, shortened
from .plain import one_line, prose
from .report import CELL, Wording

_DETAILS = "Technical details"
_WAYS = "Ways to sign in"
_LOGIN = "Run `%login`."


def render_failure(error: CopilotError, wording: Wording = CELL) -> Bundle:
    """The card for `error`, in the words of the front end that shows it."""
    hint = wording.adapt(error.hint)
    ways = _ways(error, wording) if isinstance(error, AuthRequired) else Shown()
    details = ansi_text(_details(error))
    html = lines((
        row(span("✗", f"color:{RED}"), span(error.title, "font-weight:bold")),
        _hint_html(hint),
        ways.html,
        fold(muted(_DETAILS), pre(escape(details))) if details else "",
    ))  # fmt: skip
    folded = f"{_DETAILS}:\n{prose(details)}" if details else ""
    text = (f"✗ {prose(error.title)}", prose(hint), ways.text, folded)
    name = f"{FAILURE} {NO_AGENT}" if isinstance(error, AgentNotFound) else FAILURE
    return bundle(card(html, RED, name), lines(text))


def _ways(error: AuthRequired, wording: Wording) -> Shown:
    """The ways to sign in; folded in cells if the agent can be asked to, which a button there does."""
    login = wording.adapt(_LOGIN) if error.is_askable else ""
    ways, again = [_way(each) for each in error.methods], f"Then {wording.retry}."
    html = lines((row(with_code(login)) if login else "", *(each.html for each in ways), row(escape(again))))
    text = " ".join(filter(None, (login, *(each.text for each in ways), again)))
    return Shown(fold(muted(_WAYS), html, is_open=wording.retry != CELL.retry) if login else html, text)


def _way(method: AuthMethod) -> Shown:
    if method.command:
        command = shlex.join(method.command)
        html = row("Run this in a terminal:") + pre(escape(command), kind=COMMAND)
        return Shown(html, f"Run this in a terminal: `{one_line(command)}`.")
    parts = filter(None, (one_line(method.name or method.id), one_line(method.description)))
    words = " ".join(part if part.endswith((".", "!", "?", ":")) else f"{part}." for part in parts)
    return Shown(row(with_code(words)), words)


def _hint_html(hint: str) -> str:
    """Line by line; indented lines are commands, as a block that is easy to copy; `%` begins one for a cell."""
    parts = []
    for is_command, part in groupby(hint.splitlines(), key=lambda line: line.startswith(" ")):
        if is_command:
            commands = dedent("\n".join(part))
            parts.append(pre(escape(commands), kind=CELL_COMMAND if commands.startswith("%") else COMMAND))
        else:
            parts.append("".join(f"<div>{with_code(line)}</div>" for line in part))
    return lines(parts)


def _details(error: CopilotError) -> str:
    """Return what is not in the title: the agent's last lines on stderr, its whole message, or its error answer."""
    match error:
        case AuthRequired():
            parts = [str(error).strip().partition("\n")[2]]
        case AgentRefused():
            reply = error.method if error.code is None else f"{error.method}: error {error.code}"
            parts = [reply, str(error), "" if error.data is None else as_json(error.data)]
        case ModelFailed():
            parts = [error.report.strip()]
        case _:
            parts = [str(getattr(error, "stderr", "")).strip("\n") or str(error)]
    return shortened(lines(part for part in parts if part.strip() != error.title))
