"""Untrusted text made safe for JSON, terminals and readers.

`prose` is for what is read, such as an answer or a plan: what some language needs stays. `visible` is for titles, paths
and what is decided on, where a hidden character can only deceive.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

MAX_DEPTH = 64
"""Limit of nested containers in a message."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STRING_SEQUENCE = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
ESCAPE = re.compile(rf"{_STRING_SEQUENCE}|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?")
"""A terminal escape sequence: a string such as a window title, a CSI sequence, or a short one."""
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Hidden, although Python calls it printable.
_UNPRINTED = re.compile(f"[{''.join(_BLANK)}\ufe00-\ufe0e\U000e0100-\U000e01ef]")
_HARMLESS = frozenset(" \t\n")
# Part of emoji and of words in Persian and Indic scripts.
_JOINERS = frozenset("\u200c\u200d")
# Code points that fonts draw as nothing even while they are unassigned.
_IGNORABLE = re.compile("[\u2065\ufff0-\ufff8\U000e0000-\U000e0fff]")
_MAX_NAMED = 6  # kinds of hidden characters, in a warning
_WHITE = re.compile(r"[ \t\r\n]+")
_MAX_EMPTY_LINES = 3
_RUNS = re.compile(rf"(\n(?:[ \t]*\n){{{_MAX_EMPTY_LINES},}}|[ -~]+)")
_PLAIN = re.compile(r"[ -~\t\n]*")
CODE_SPAN = re.compile(r"`([^`\n]+)`")
_PLAIN_RUNS = re.compile(r"([ -~\t\n]+)")


def whole(text: str) -> str:
    """`text` without lone surrogates, which cannot be encoded; a pair that was cut in two becomes one character."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encodable(value: Any, depth: int = 0) -> Any:
    """`value` as valid JSON and valid UTF-8.

    NaN becomes null, a lone surrogate U+FFFD, what is nested deeper than `MAX_DEPTH` "…".
    """
    match value:
        case str():
            return whole(value)
        case None | bool() | int():
            return value
        case float():
            return value if isfinite(value) else None
        case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
            return "…"
        case Mapping():
            return {whole(str(key)): encodable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [encodable(item, depth + 1) for item in value]
        case _:
            return whole(str(value))


def clean(text: object) -> str:
    """`text` with `\\n` line ends and without surrogates, escape sequences and control characters."""
    readable = ESCAPE.sub("", whole(str(text))).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", readable)


def prose(text: object) -> str:
    """`clean(text)` with hidden characters made visible, but for those that some language needs."""
    text = str(text)
    return text if _PLAIN.fullmatch(text) else visible_text(clean(text), gaps=False)


def one_line(text: object) -> str:
    """`prose(text)` with each run of white space collapsed."""
    return " ".join(prose(text).split())


def is_visible(text: str) -> bool:
    """Return True if `text`, perhaps empty, is one line in which nothing is hidden."""
    return text.isprintable() and not _UNPRINTED.search(text)


def visible(text: object, *, gaps: bool = True) -> Iterator[tuple[str, str]]:
    """Runs of `text` as (shown, name): `name` is empty for text as it is, else the name of a hidden character.

    Hidden: controls, format characters such as direction marks, blanks other than spaces, unassigned characters, and
    more than three empty lines in a row. With `gaps=False`, for prose, code and output, empty lines and characters that
    some languages need stay as they are, so that copied text is still correct.
    """
    for run in (_RUNS if gaps else _PLAIN_RUNS).split(whole(str(text)).replace("\r\n", "\n")):
        if gaps and not run.strip() and run.count("\n") > _MAX_EMPTY_LINES:
            yield from (("\n", ""), (f"⟨{run.count(chr(10)) - 1} empty lines⟩", "empty lines"), ("\n", ""))
        elif run and is_visible(run.replace("\n", "").replace("\t", "")):
            yield run, ""
        else:
            yield from (_unit(run, at, is_code=not gaps) for at in range(len(run)))


def visible_text(text: object, *, gaps: bool = True) -> str:
    """`visible(text)` as one string."""
    return "".join(shown for shown, _ in visible(text, gaps=gaps))


def unbroken(text: object) -> str:
    """`text` with each run of spaces, tabs and line ends collapsed; hidden characters are kept."""
    return _WHITE.sub(" ", whole(str(text))).strip(" ")


def visible_line(text: object) -> str:
    """`text` on one line with hidden characters made visible."""
    return visible_text(unbroken(text))


def first_of(names: Iterable[str], most: int = 5) -> str:
    """The first few `names`, each as a visible line, and how many more there are."""
    shown = [visible_line(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return f"{', '.join(shown[:most])}{more}"


def quoted(text: str) -> str:
    """`text` with quotation marks in place of Markdown's backticks, for where these would be shown as they are."""
    return CODE_SPAN.sub(r"“\1”", text)


def hidden_warning(texts: Iterable[str]) -> str:
    """One sentence that counts and names the hidden characters in `texts`; empty if there are none."""
    found = Counter(name for text in texts for _, name in visible(text) if name)
    if not found:
        return ""
    names = [f"{name} (×{count})" if count > 1 else name for name, count in found.most_common(_MAX_NAMED)]
    if len(found) > _MAX_NAMED:
        names.append(f"{len(found) - _MAX_NAMED} other kinds")
    return f"Hidden characters, each shown as a code in ⟨⟩: {', '.join(names)}."


def _unit(run: str, at: int, *, is_code: bool) -> tuple[str, str]:
    character = run[at]
    if character in _HARMLESS or not _is_hidden(character) or (is_code and _is_ordinary(run, at)):
        return character, ""
    code = f"U+{ord(character):04X}"
    return f"⟨{code}⟩", f"{code} {unicodedata.name(character, 'control character')}"


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character)[0] in "CZ" or _UNPRINTED.match(character) is not None


def _is_ordinary(run: str, at: int) -> bool:
    """Return True if text in some language needs this character: a space of another width, a joiner, a new glyph."""
    character = run[at]
    if character in _JOINERS:
        return _is_foreign(run[at - 1 : at]) and _is_foreign(run[at + 1 : at + 2])
    return unicodedata.category(character) in ("Co", "Cn", "Zs") and not _IGNORABLE.match(character)


def _is_foreign(neighbour: str) -> bool:
    return bool(neighbour) and not neighbour.isascii() and not _is_hidden(neighbour)
