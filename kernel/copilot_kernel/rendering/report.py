"""Reports of this program itself: results of commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .markup import AMBER, BLUE, FONT, GREY, LINE, RED, Bundle, bundle, card, escape, fold, lines, muted, pre, row, span
from .output import SHORT, shortened
from .plain import one_line, prose, quoted, visible_line

_RETRY = "run this cell again"
_CELL = "text-align:left;padding:1px 16px 1px 0"


@dataclass(frozen=True, slots=True)
class Wording:
    """Hints and reports are written for notebook cells; `adapt` puts them into the words of another front end.

    `retry` says in the imperative how the user retries; `prefix` is what the `commands` begin with.
    """

    retry: str = _RETRY
    prefix: str = "%"
    commands: frozenset[str] = frozenset()

    def adapt(self, text: str) -> str:
        """Plain `text` with this front end's commands and way to retry."""
        text = text.replace(_RETRY, self.retry)
        if not self.commands:
            return text
        return re.sub(rf"(?<!%copilot )%(?=(?:{'|'.join(map(re.escape, self.commands))})\b)", self.prefix, text)


CELL = Wording()
"""Notebook cells, where `%name` is a command."""


@dataclass(frozen=True, slots=True)
class Report:
    """Report of a command: a title, a table and a note after it; what is empty is left out, whole columns too.

    `warns`: the note is a warning; `alarms`: it is about a danger that lasts. `typed` is the number of the column that
    has what is typed.
    """

    title: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    note: str = ""
    warns: bool = False
    alarms: bool = False
    typed: int | None = None


def render_report(report: Report, wording: Wording = CELL) -> Bundle:
    """A table with a title and a note."""
    title, note = wording.adapt(report.title), quoted(wording.adapt(report.note))
    headed = bool(report.head)
    table = [report.head, *report.rows] if headed else report.rows
    shown = _columns(table, headed, wording) if report.rows else []
    colour = RED if report.alarms else AMBER if report.warns else ""
    remark = span(f"⚠ {note}", f"color:{colour}") if colour else muted(note)
    html = lines((
        row(span(title, "font-weight:bold")) if title else "",
        _table(shown, headed, report.typed) if shown else "",
        row(remark) if note else "",
    ))  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    aligned = ("  ".join(map(str.ljust, each, widths)).rstrip() for each in shown)
    text = lines((one_line(title), *aligned, ("⚠ " if colour else "") + prose(note)))
    return bundle(card(html, colour or LINE), text.rstrip("\n"))


def render_done(words: str, wording: Wording = CELL) -> Bundle:
    """One line that says what was done."""
    words = wording.adapt(words)
    return bundle(card(row(span("✓", f"color:{BLUE}"), escape(words))), f"✓ {one_line(words)}")


def render_lines(title: str, shown: Sequence[str]) -> Bundle:
    """Lines as they are, folded when there are many; the middle of a very long text is left out, and it says so."""
    text = prose(shortened("\n".join(shown)))
    body = pre(escape(text)) if text else muted("nothing")
    head = span(title, "font-weight:bold")
    html = fold(head, body) if len(shown) > SHORT else row(head) + body
    return bundle(card(html), lines((one_line(title), text or "nothing")))


def _columns(table: Sequence[Sequence[str]], headed: bool, wording: Wording) -> list[list[str]]:
    """The rows, each cell on one line, without the columns in which nothing stands below the head."""
    columns = zip(*([visible_line(wording.adapt(cell)) for cell in each] for each in table), strict=True)
    return [list(each) for each in zip(*(column for column in columns if any(column[headed:])), strict=True)]


def _table(shown: Sequence[Sequence[str]], headed: bool, typed: int | None) -> str:
    head = ""
    if headed:
        names = "".join(f'<th style="{_CELL};color:{GREY}">{escape(cell)}</th>' for cell in shown[0])
        head, shown = f"<thead><tr>{names}</tr></thead>", shown[1:]
    styles = [f"{_CELL};{FONT}" if number == typed else _CELL for number in range(len(shown[0]))]
    rows = ("".join(map('<td style="{}">{}</td>'.format, styles, map(escape, each))) for each in shown)
    body = "".join(f"<tr>{each}</tr>" for each in rows)
    return f'<table style="margin:2px 0">{head}<tbody>{body}</tbody></table>'
