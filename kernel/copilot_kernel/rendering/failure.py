"""An error as a card: what happened, what to do next, commands to copy, the agent's last output."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent
from typing import Any

from ..acp.messages import AuthMethod
from ..errors import AgentRefused, AuthRequired, CopilotError
from .markup import GREY, RED, Bundle, bundle, card, code, escape, fold, lines, muted, pre, row, span
from .output import SHORT, ansi_text, shortened
from .plain import clean, one_line
from .raw import as_json
from .wording import CELL, Wording


def render_failure(error: CopilotError, wording: Wording = CELL) -> Bundle:
    """The card for `error`, in the words of the front end that shows it."""
    title, hint = _title(error), wording.adapt(error.hint)
    methods, again = [], ""
    if isinstance(error, AuthRequired):
        methods = [_sign_in_method(each) for each in error.methods if isinstance(each, AuthMethod | Mapping)]
        again = f"Then {wording.retry}."
    details = ansi_text(_details(error))
    html = lines((
        row(span("✗", f"color:{RED}"), span(title, "font-weight:bold")),
        _hint_html(hint),
        *(method.html() for method in methods),
        row(escape(again)) if again else "",
        _details_html(details),
    ))  # fmt: skip
    text = (f"✗ {clean(title)}", clean(hint), *(method.text() for method in methods), again, clean(details))
    return bundle(card(html, RED), lines(text))


@dataclass(frozen=True, slots=True)
class _SignInMethod:
    name: str
    description: str
    command: str

    def html(self) -> str:
        """Name and description, and the command as a block that is easy to copy."""
        words = row(_with_code(self.name), f'<span style="color:{GREY}">{_with_code(self.description)}</span>')
        return words + (pre(escape(self.command)) if self.command else "")

    def text(self) -> str:
        """The same for a terminal."""
        words = " · ".join(filter(None, (one_line(self.name), one_line(self.description))))
        return lines((words, f"  {clean(self.command)}" if self.command else ""))


def _sign_in_method(method: AuthMethod | Mapping[Any, Any]) -> _SignInMethod:
    """Of what the agent offers; `_meta.terminal-auth` holds the command of agents that predate the specification's."""
    if isinstance(method, AuthMethod):
        return _SignInMethod(method.name or method.id, method.description, shlex.join(method.command))
    name = str(method.get("name") or method.get("id") or "Sign in")
    meta = method.get("_meta")
    terminal = meta.get("terminal-auth") if isinstance(meta, Mapping) else None
    command = ""
    if isinstance(terminal, Mapping) and isinstance(terminal.get("command"), str):
        args = terminal.get("args")
        command = shlex.join([terminal["command"], *(map(str, args) if isinstance(args, list) else ())])
    return _SignInMethod(name, str(method.get("description") or ""), command)


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
    """What stands between backticks becomes code."""
    return "".join(code(part) if index % 2 else escape(part) for index, part in enumerate(hint.split("`")))


def _details(error: CopilotError) -> str:
    """The agent's last lines on stderr, or the data of its error."""
    stderr = str(getattr(error, "stderr", "")).strip("\n")
    if stderr or not isinstance(error, AgentRefused) or isinstance(error, AuthRequired):
        return shortened(stderr)
    reply = f"{error.method}: error {error.code}" if error.code is not None else error.method
    return shortened(lines((reply, as_json(error.data) if error.data is not None else "")))


def _details_html(details: str) -> str:
    """The last lines are shown without a click."""
    last = details.splitlines()[-SHORT:]
    whole = details.count("\n") < SHORT
    folded = "" if whole else fold(muted("the agent's last output"), pre(escape(details)))
    return folded + pre(escape(details if whole else "\n".join(last))) if details else ""
