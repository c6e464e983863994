"""Formulas in an agent's markdown: which dollars and backslashes reach MathJax, and which stay what they are.

Maths is what stands between `$$` and `$$`, `\\[` and `\\]`, `\\(` and `\\)`, `\\begin{x}` and `\\end{x}`. Between
single dollars it is only what nobody would write about money or shell variables: on one line, no space inside, no
letter or digit after the second one, and a TeX command or else only single letters (longer words in `_{…}`, `^{…}`).
Everything else is wrapped, so that MathJax passes it by.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from .markup import NO_MATHS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_LONGEST_FORMULA = 4000
_LONGEST_BLOCK = 30
_INLINE = {"$$": "$$", "\\(": "\\)", "\\[": "\\]"}
_DOLLARS = re.compile(r"\$(?![\s$])([^$\n]{1,300}?)(?<![\s\\])\$(?![\w$])")
_OPENING = re.compile(r"\s{0,3}(\$\$|\\\[|\\begin\{([a-z]+\*?)\})")
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_INDEX = re.compile(r"[_^]\{[^{}]*\}")
# Definitions would reach the formulas of other cells; the rest makes links, styles or loads code.
_REFUSED = re.compile(
    r"\\(?:g?def|let|futurelet|(?:re|provide)?(?:new)?(?:command|environment)|newcommand|DeclareMathOperator|require"
    r"|href|url|style|class|cssId|data|includegraphics|html\w*|ref|eqref|label|special|input|bbox|mmlToken)(?![a-zA-Z])"
)
_SPECIAL = re.compile(r"[$\\]+")


def install(parser: MarkdownIt) -> None:
    """Teach `parser` formulas."""
    parser.inline.ruler.before("escape", "maths", _inline)
    parser.block.ruler.before("fence", "maths_block", _block, {"alt": ["paragraph", "blockquote", "list"]})


def not_maths(text: str) -> str:
    """Escaped text in which MathJax finds nothing."""
    return _SPECIAL.sub(rf'<span class="{NO_MATHS}">\g<0></span>', html.escape(text, quote=False))


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    end = _formula_end(state.src, state.pos, state.posMax)
    if not end:
        return False
    if not silent:
        state.push("maths", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _formula_end(source: str, start: int, limit: int) -> int:
    close = _INLINE.get(source[start : start + 2])
    if close:
        end = source.find(close, start + 2, min(limit, start + _LONGEST_FORMULA)) + 2
        return end if end > start + 4 and not _REFUSED.search(source, start, end) else 0
    found = _DOLLARS.match(source, start, limit)
    return found.end() if found and _is_formula(found[1]) else 0


def _is_formula(text: str) -> bool:
    if _REFUSED.search(text):
        return False
    rest = _INDEX.sub("", _COMMAND.sub("", text))
    has_command = _COMMAND.search(text) is not None
    return has_command or (bool(re.search("[A-Za-z]", text)) and not re.search(r"[A-Za-z]{2}|\d[A-Za-z]\d", rest))


def _block(state: StateBlock, first: int, limit: int, silent: bool) -> bool:
    opening = _OPENING.match(_line(state, first))
    if opening is None or state.is_code_block(first):
        return False
    close = f"\\end{{{opening[2]}}}" if opening[2] else {"$$": "$$", "\\[": "\\]"}[opening[1]]
    last = _closing_line(state, first, limit, close, opening.end())
    text = state.getLines(first, last + 1, state.blkIndent, False)
    if last < 0 or _REFUSED.search(text):
        return False
    if not silent:
        token = state.push("maths_block", "", 0)
        token.content, token.map, state.line = text, [first, last + 1], last + 1
    return True


def _closing_line(state: StateBlock, first: int, limit: int, close: str, start: int) -> int:
    """Number of the line that ends with `close`, or -1; a formula has no empty line."""
    for number in range(first, min(limit, first + _LONGEST_BLOCK)):
        line = _line(state, number)[start if number == first else 0 :].rstrip()
        if line.endswith(close):
            return number
        if state.isEmpty(number) or close in line:
            break
    return -1


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
