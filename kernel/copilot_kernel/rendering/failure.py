"""An error as a card: what happened, what to do next, commands to copy, the agent's last words."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent
from typing import Any

from ..acp.messages import AuthMethod
from ..errors import AgentRefused, AuthRequired, CopilotError
from .ansi import ansi_text
from .markup import GREY, RED, Bundle, bundle, card, code, escape, fold, lines, muted, pre, row, span
from .output import SHORT, shortened
from .plain import clean, one_line
from .raw import as_json

_AGAIN = "Then run this cell again."


def render_failure(error: CopilotError) -> Bundle:
    """The card for `error`; everything in it is for the user."""
    title, ways = _title(error), _ways(error)
    said, again = ansi_text(_details(error)), _AGAIN if isinstance(error, AuthRequired) else ""
    html = lines((
        row(span("✗", f"color:{RED}"), span(title, "font-weight:bold")),
        _hint_html(error.hint),
        *(way.html() for way in ways),
        row(escape(again)) if again else "",
        _details_html(said),
    ))  # fmt: skip
    text = (f"✗ {clean(title)}", clean(error.hint), *(way.text() for way in ways), again, clean(said))
    return bundle(card(html, RED), lines(text))


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to sign in."""

    name: str
    description: str
    command: str

    def html(self) -> str:
        """Name and description, and the command as a block that is easily copied."""
        words = row(_with_code(self.name), f'<span style="color:{GREY}">{_with_code(self.description)}</span>')
        return words + (pre(escape(self.command)) if self.command else "")

    def text(self) -> str:
        """The same for a terminal."""
        words = " · ".join(filter(None, (one_line(self.name), one_line(self.description))))
        return lines((words, f"  {clean(self.command)}" if self.command else ""))


def _title(error: CopilotError) -> str:
    if isinstance(error, AuthRequired):
        return "The agent wants you to sign in first" + (f": {error}" if str(error) else "")
    title = str(error) or type(error).__name__
    return title.partition("\n")[0] if getattr(error, "stderr", "") else title  # the last words stand below


def _hint_html(hint: str) -> str:
    """Line by line; indented lines are commands, as a block that is easily copied."""
    parts = groupby(hint.splitlines(), key=lambda line: line.startswith(" "))
    return lines(_commands(part) if indented else _sentences(part) for indented, part in parts)


def _commands(part: Iterable[str]) -> str:
    return pre(escape(dedent("\n".join(part))))


def _sentences(part: Iterable[str]) -> str:
    return "".join(f"<div>{_with_code(line)}</div>" for line in part)


def _with_code(hint: str) -> str:
    return "".join(code(part) if index % 2 else escape(part) for index, part in enumerate(hint.split("`")))


def _ways(error: CopilotError) -> list[_Way]:
    if not isinstance(error, AuthRequired):
        return []
    return [_way(method) for method in error.methods if isinstance(method, AuthMethod | Mapping)]


def _way(method: AuthMethod | Mapping[Any, Any]) -> _Way:
    if isinstance(method, AuthMethod):
        return _Way(method.name or method.id, method.description, shlex.join(method.command))
    name = str(method.get("name") or method.get("id") or "Sign in")
    return _Way(name, str(method.get("description") or ""), _terminal_command(method.get("_meta")))


def _terminal_command(meta: Any) -> str:
    terminal = meta.get("terminal-auth") if isinstance(meta, Mapping) else None
    if not isinstance(terminal, Mapping) or not isinstance(terminal.get("command"), str):
        return ""
    args = terminal.get("args")
    return shlex.join([terminal["command"], *(map(str, args) if isinstance(args, list) else ())])


def _details(error: CopilotError) -> str:
    """The agent's last lines on stderr, or the data of its error."""
    stderr = str(getattr(error, "stderr", "")).strip("\n")
    if stderr or not isinstance(error, AgentRefused) or isinstance(error, AuthRequired):
        return shortened(stderr)
    code = f"{error.method}: error {error.code}" if error.code is not None else error.method
    return shortened(lines((code, as_json(error.data) if error.data is not None else "")))


def _details_html(said: str) -> str:
    """The last lines are seen without a click."""
    said_lines = said.splitlines()
    if len(said_lines) <= SHORT:
        return pre(escape(said)) if said else ""
    return fold(muted("all that the agent wrote last"), pre(escape(said))) + _last(said_lines)


def _last(said: list[str]) -> str:
    return pre(escape("\n".join(said[-SHORT:])))
