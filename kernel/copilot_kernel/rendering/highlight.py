"""Syntax highlighting: Pygments tokens as spans in our own colours."""

from __future__ import annotations

import html
import re
from functools import cache, lru_cache
from itertools import groupby
from posixpath import basename, splitext
from typing import TYPE_CHECKING, Any

from .markup import ADDED, AMBER, BLUE, GREEN, GREY, REMOVED, exposed, stronger, text_colour

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# Shown as a number of lines, across tokens.
_LONG_GAP = re.compile(r"\n(?:[ \t\r]*\n){3}")
_OPTION = re.compile(r"((?<!\S)-[^\s]*[\w-])")
_WHOLE = "display:inline-block"
MAX_HIGHLIGHTED_CHARS = 50_000
"""Longer code stays plain, since lexers have no bound."""
_PURPLE, _ORANGE, _TEAL, _ROSE = map(text_colour, ("#ac51cb", "#b16623", "#1b8689", "#c24e92"))
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
"""Every `style` value that `highlighted` writes."""


# By the end of a file's name. Pygments' own search loads a plugin of anybody, and many modules.
_LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".tsx"), "typescript"),
    **dict.fromkeys((".json", ".ipynb"), "json"),
    **dict.fromkeys((".html", ".htm"), "html"),
    **dict.fromkeys((".xml", ".svg"), "xml"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cpp", ".cc", ".hpp"), "cpp"),
    **dict.fromkeys((".ini", ".cfg"), "ini"),
    **{".css": "css", ".go": "go", ".java": "java", ".jl": "julia", ".kt": "kotlin", ".lua": "lua", ".php": "php"},
    **{".r": "r", ".rb": "ruby", ".rs": "rust", ".scss": "scss", ".sql": "sql", ".swift": "swift", ".toml": "toml"},
    **{"dockerfile": "docker", "makefile": "make"},
}


def language_of(path: str) -> str:
    """Return the language of the file at `path`; empty if its name does not say."""
    name = basename(path).lower()
    return _LANGUAGES.get(splitext(name)[1] or name, "")


def coloured_lines(source: str, language: str) -> list[list[tuple[str, str]]]:
    """Return colour and text of the parts of each line, without the line end; for diffs. Empty if not known."""
    found: list[list[tuple[str, str]]] = [[]]
    for colour, run in groupby(_tokens(source, language), key=lambda token: token[0]):
        first, *others = "".join(text for _, text in run).split("\n")
        found[-1].append((stronger(colour), first))
        found += [[(stronger(colour), text)] for text in others]
    return found if len(found) > 1 or found[0] else []


def highlighted(source: str, language: str) -> str:
    """Escaped `source` with coloured spans; plain where the language is unknown or the text too long."""
    if language in ("diff", "patch", "udiff"):
        return diff_lines(source)
    spans = []
    for colour, run in groupby(_tokens(source, language), key=lambda token: token[0]):
        text = html.escape("".join(value for _, value in run), quote=False)
        spans.append(in_colour(colour, text))
    return "".join(spans) or html.escape(source, quote=False)


def exposed_code(source: str, language: str) -> str:
    """Escaped `source` with coloured spans and hidden characters made visible (`markup.exposed`), returns too."""
    tokens = _tokens(source, language)
    if not tokens or _LONG_GAP.search(source):
        return _exposed_lines(source)
    return "".join(in_colour(colour, _exposed_lines(text)) for colour, text in tokens)


def _tokens(source: str, language: str) -> list[tuple[str, str]]:
    """Colour and text of each token; empty if the language is unknown, the text too long, or the lexer fails."""
    lexer = lexer_of(language) if len(source) <= MAX_HIGHLIGHTED_CHARS else None
    if lexer is None:
        return []
    try:
        tokens = [(_colour(kind), text) for _, kind, text in lexer.get_tokens_unprocessed(source)]
    except Exception:  # lexers may fail on any text
        return []
    return tokens if "".join(text for _, text in tokens) == source else []


def _exposed_lines(text: str) -> str:
    return f"{exposed(chr(13))}\n".join(map(_exposed_words, text.split("\r\n")))


def _exposed_words(text: str) -> str:
    """Options are kept together, so that no line breaks after their dashes."""
    if len(text) > MAX_HIGHLIGHTED_CHARS:
        return exposed(text)
    parts = enumerate(_OPTION.split(text))
    return "".join(f'<span style="{_WHOLE}">{exposed(part)}</span>' if at % 2 else exposed(part) for at, part in parts)


def in_colour(colour: str, body: str) -> str:
    """HTML `body` in a colour; blanks have none."""
    return f'<span style="color:{colour}">{body}</span>' if colour and body.strip() else body


def diff_lines(source: str) -> str:
    """Escaped lines of a unified diff, coloured by their first character."""
    shown = []
    for line in source.splitlines(keepends=True):
        style = "" if line.startswith(("+++", "---")) else _DIFF.get(line[:1], "")
        text = exposed(line, gaps=False)
        shown.append(f'<span style="{style}">{text}</span>' if style else text)
    return "".join(shown)


@lru_cache(maxsize=64)
def lexer_of(language: str) -> Lexer | None:
    """The lexer for an alias that Pygments itself knows; looking up plugins would import arbitrary code.

    The first time, this may take 0.2 seconds.
    """
    from pygments.lexers import get_all_lexers, get_lexer_by_name

    if not any(language in aliases for _, aliases, _, _ in get_all_lexers(plugins=False)):
        return None
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _colour(kind: Any) -> str:
    """The colour of a type of token, or of the nearest type above it that has one."""
    names = (str(each).removeprefix("Token.") for each in reversed(kind.split()))
    return next((_COLOURS[name] for name in names if name in _COLOURS), "")
