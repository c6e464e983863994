"""An error as a card: what happened, what to do next, commands to copy, the agent's last output."""

from __future__ import annotations

import shlex
from itertools import groupby
from textwrap import dedent

from ..acp.messages import AuthMethod
from ..errors import AgentRefused, AuthRequired, CopilotError
from .markup import GREY, RED, Bundle, bundle, card, code, escape, fold, lines, muted, pre, row, span
from .output import SHORT, ansi_text, shortened
from .plain import clean, one_line
from .raw import as_json
from .report import CELL, Wording


def render_failure(error: CopilotError, wording: Wording = CELL) -> Bundle:
    """The card for `error`, in the words of the front end that shows it."""
    title, hint = _title(error), wording.adapt(error.hint)
    methods: tuple[AuthMethod, ...] = error.methods if isinstance(error, AuthRequired) else ()
    again = f"Then {wording.retry}." if isinstance(error, AuthRequired) else ""
    details = ansi_text(_details(error))
    html = lines((
        row(span("✗", f"color:{RED}"), span(title, "font-weight:bold")),
        _hint_html(hint),
        *map(_sign_in_html, methods),
        row(escape(again)) if again else "",
        _details_html(details),
    ))  # fmt: skip
    text = (f"✗ {clean(title)}", clean(hint), *map(_sign_in_text, methods), again, clean(details))
    return bundle(card(html, RED), lines(text))


def _sign_in_html(method: AuthMethod) -> str:
    description = f'<span style="color:{GREY}">{_with_code(method.description)}</span>'
    command = pre(escape(shlex.join(method.command))) if method.command else ""
    return row(_with_code(method.name or method.id), description) + command


def _sign_in_text(method: AuthMethod) -> str:
    words = " · ".join(filter(None, (one_line(method.name or method.id), one_line(method.description))))
    return lines((words, f"  {clean(shlex.join(method.command))}" if method.command else ""))


def _title(error: CopilotError) -> str:
    if isinstance(error, AuthRequired):
        return "Sign in to the agent first" + (f": {error}" if str(error) else "")
    title = str(error) or type(error).__name__
    return title.partition("\n")[0] if getattr(error, "stderr", "") else title  # stderr is shown below


def _hint_html(hint: str) -> str:
    """Line by line; indented lines are commands, as a block that is easy to copy."""
    parts = []
    for is_command, part in groupby(hint.splitlines(), key=lambda line: line.startswith(" ")):
        if is_command:
            parts.append(pre(escape(dedent("\n".join(part)))))
        else:
            parts.append("".join(f"<div>{_with_code(line)}</div>" for line in part))
    return lines(parts)


def _with_code(hint: str) -> str:
    return "".join(code(part) if index % 2 else escape(part) for index, part in enumerate(hint.split("`")))


def _details(error: CopilotError) -> str:
    """The agent's last lines on stderr, or the data of its error."""
    stderr = str(getattr(error, "stderr", "")).strip("\n")
    if stderr or not isinstance(error, AgentRefused) or isinstance(error, AuthRequired):
        return shortened(stderr)
    reply = f"{error.method}: error {error.code}" if error.code is not None else error.method
    return shortened(lines((reply, as_json(error.data) if error.data is not None else "")))


def _details_html(details: str) -> str:
    last = details.splitlines()[-SHORT:]
    whole = details.count("\n") < SHORT
    folded = "" if whole else fold(muted("the agent's last output"), pre(escape(details)))
    return folded + pre(escape(details if whole else "\n".join(last))) if details else ""
