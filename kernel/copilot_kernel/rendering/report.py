"""A table with a title and a line after it: what our commands say, with words of the agent's in it."""

from __future__ import annotations

from collections.abc import Sequence

from .markup import AMBER, BLUE, GREY, LINE, RED, Bundle, bundle, card, escape, fold, lines, muted, pre, row, span
from .output import SHORT, shortened
from .plain import clean, one_line, visible_line, visible_text

_CELL = "text-align:left;padding:1px 16px 1px 0"
_GAP = "  "


def render_report(
    title: str = "",
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    note: str = "",
    warns: bool = False,
    alarms: bool = False,
) -> Bundle:
    """Whatever is empty is left out, whole columns too. `alarms` is for a note about a danger that lasts."""
    shown = _columns([head, *rows] if head else rows, bool(head))
    colour = RED if alarms else AMBER if warns else ""
    html = lines((
        row(span(title, "font-weight:bold")) if title else "",
        _table(shown, bool(head)) if rows and shown else "",
        _note(note, colour),
    ))  # fmt: skip
    text = lines((one_line(title), *_aligned(shown if rows else []), ("⚠ " if colour else "") + clean(note)))
    return bundle(card(html, colour or LINE), text.rstrip("\n"))


def render_done(words: str) -> Bundle:
    """One line that says what was done."""
    return bundle(card(row(span("✓", f"color:{BLUE}"), escape(words))), f"✓ {one_line(words)}")


def render_lines(title: str, said: Sequence[str]) -> Bundle:
    """Lines as they are, folded when there are many; the middle of a very long text is left out, and it says so."""
    text = visible_text(shortened("\n".join(said)), gaps=False)
    body = pre(escape(text)) if text else muted("nothing")
    head = span(title, "font-weight:bold")
    html = fold(head, body) if len(said) > SHORT else row(head) + body
    return bundle(card(html), lines((one_line(title), text or "nothing")))


def _columns(table: Sequence[Sequence[str]], headed: bool) -> list[list[str]]:
    """The cells on one line each, without the columns in which nothing stands below the head."""
    columns = zip(*([visible_line(cell) for cell in each] for each in table), strict=True)
    return [list(each) for each in zip(*(column for column in columns if any(column[headed:])), strict=True)]


def _table(shown: Sequence[Sequence[str]], headed: bool) -> str:
    head, body = (shown[0], shown[1:]) if headed else ((), shown)
    names = "".join(f'<th style="{_CELL};color:{GREY}">{escape(cell)}</th>' for cell in head)
    top = f"<thead><tr>{names}</tr></thead>" if headed else ""
    return f'<table style="margin:2px 0">{top}<tbody>{"".join(map(_row, body))}</tbody></table>'


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in cells) + "</tr>"


def _note(note: str, colour: str) -> str:
    if not note:
        return ""
    return row(span(f"⚠ {note}", f"color:{colour}") if colour else muted(note))


def _aligned(shown: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [_GAP.join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)).rstrip() for each in shown]
