"""Code in colour: Pygments' tokens as spans with colours of ours."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .markup import ADDED, AMBER, BLUE, GREEN, GREY, REMOVED, exposed

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LONG_GAP = re.compile(r"\n(?:[ \t\r]*\n){3}")
"""It is shown as a number of lines, across tokens."""
_OPTION = re.compile(r"((?<!\S)-[^\s]*[\w-])")
_WHOLE = "display:inline-block"
LONGEST = 50_000
"""Characters; longer code stays plain, for lexers have no bound."""
_PURPLE, _ORANGE, _TEAL, _ROSE = "#ac51cb", "#b16623", "#1b8689", "#c24e92"
_COLOURS = {
    "Keyword": _PURPLE,
    "Keyword.Constant": _ORANGE,
    "Operator.Word": _PURPLE,
    "Name.Function": BLUE,
    "Name.Class": _TEAL,
    "Name.Builtin": _TEAL,
    "Name.Exception": _TEAL,
    "Name.Decorator": _ROSE,
    "Name.Tag": BLUE,
    "Name.Attribute": _TEAL,
    "Name.Variable": AMBER,
    "Name.Constant": _ORANGE,
    "Literal.String": GREEN,
    "Literal.Number": _ORANGE,
    "Comment": GREY,
    "Generic.Heading": BLUE,
    "Generic.Prompt": GREY,
    "Generic.Error": _ROSE,
}
_BLOCK = "display:block;background-color:"
_DIFF = {"+": _BLOCK + ADDED, "-": _BLOCK + REMOVED, "@": f"color:{_PURPLE}"}
STYLES = frozenset({*(f"color:{colour}" for colour in _COLOURS.values()), *_DIFF.values()})
"""Every value of `style` that `highlighted` writes."""


def highlighted(source: str, language: str) -> str:
    """Escaped `source` with coloured spans; plain where the language is unknown or the text too long."""
    if language in ("diff", "patch", "udiff"):
        return diff_lines(source)
    lexer = _lexer(language) if len(source) <= LONGEST else None
    if lexer is None:
        return html.escape(source, quote=False)
    try:
        return "".join(_spans(lexer, source))
    except Exception:  # a lexer is foreign code that meets any text
        return html.escape(source, quote=False)


def exposed_code(source: str, language: str) -> str:
    """Escaped `source` with coloured spans, in which nothing hides: as `markup.exposed`, and carriage returns too."""
    lexer = _lexer(language) if len(source) <= LONGEST else None
    try:
        tokens = [(_colour(kind), text) for _, kind, text in lexer.get_tokens_unprocessed(source)] if lexer else []
    except Exception:  # a lexer is foreign code that meets any text
        tokens = []
    if "".join(text for _, text in tokens) != source or _LONG_GAP.search(source):
        return _exposed_lines(source)
    return "".join(_in_colour(colour, _exposed_lines(text)) for colour, text in tokens)


def _exposed_lines(text: str) -> str:
    return f"{exposed(chr(13))}\n".join(map(_exposed_words, text.split("\r\n")))


def _exposed_words(text: str) -> str:
    """A line is not broken after the first characters of an option, as if they were a word of their own."""
    if len(text) > LONGEST:
        return exposed(text)
    parts = enumerate(_OPTION.split(text))
    return "".join(f'<span style="{_WHOLE}">{exposed(part)}</span>' if at % 2 else exposed(part) for at, part in parts)


def _in_colour(colour: str, body: str) -> str:
    return f'<span style="color:{colour}">{body}</span>' if colour and body.strip() else body


def diff_lines(source: str) -> str:
    """Escaped lines of a unified diff, coloured by their first character."""
    return "".join(_diff_line(line) for line in source.splitlines(keepends=True))


def _diff_line(line: str) -> str:
    style = "" if line.startswith(("+++", "---")) else _DIFF.get(line[:1], "")
    text = exposed(line, gaps=False)
    return f'<span style="{style}">{text}</span>' if style else text


def _spans(lexer: Lexer, source: str) -> Iterator[str]:
    for colour, run in groupby(lexer.get_tokens(source), key=lambda token: _colour(token[0])):
        text = html.escape("".join(value for _, value in run), quote=False)
        yield f'<span style="color:{colour}">{text}</span>' if colour and text.strip() else text


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    """The lexer for an alias that Pygments itself knows; its look-up of plugins would import anything."""
    from pygments.lexers import get_lexer_by_name

    if language not in _aliases():
        return None
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _aliases() -> frozenset[str]:
    from pygments.lexers import get_all_lexers

    return frozenset(alias for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases)


@cache
def _colour(kind: Any) -> str:
    while kind is not None:
        colour = _COLOURS.get(str(kind).removeprefix("Token."))
        if colour:
            return colour
        kind = kind.parent
    return ""
