"""An agent's markdown as HTML that is safe where nothing is sanitised: JupyterLab trusts fresh output.

markdown-it-py with HTML off, then an allow-list (nh3): no images (they become links, nothing is ever fetched), links to
http, https and mailto only, `style` and `class` only with the very values that we write ourselves.

Formulas reach MathJax between `$$` and `$$`, `\\[` and `\\]`, `\\(` and `\\)`, `\\begin{x}` and `\\end{x}`. Between
single dollars a formula is only what is unlikely to be money or shell variables: on one line, no space inside, no
letter or digit after the second dollar, and either a TeX command or only single letters (longer words in `_{…}` and
`^{…}`). All other dollars and backslashes are wrapped, so that MathJax ignores them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from . import highlight
from .markup import CODE_BLOCK, NO_CONTENTS, NO_MATHS, UNDERLINED, pre
from .plain import prose

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_TAGS = frozenset(
    {"a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s"}
    | {"span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ATTRIBUTES = {
    "a": {"href", "style", "title"},
    **{f"h{level}": {"class"} for level in range(1, 7)},
    "ol": {"start"},
    "pre": {"class", "style"},
    "span": {"class", "style", "title"},
    "td": {"style"},
    "th": {"style"},
}
_CLASSES = {"pre": CODE_BLOCK, "span": NO_MATHS}
_SCHEMES = {"http", "https", "mailto"}
_LINK = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_MAX_NESTING = 20

_MAX_FORMULA_CHARS = 4000
_MAX_FORMULA_LINES = 30
_CLOSING = {"$$": "$$", "\\(": "\\)", "\\[": "\\]"}
_DOLLARS = re.compile(r"\$(?![\s$])([^$\n]{1,300}?)(?<![\s\\])\$(?![\w$])")
_OPENING = re.compile(r"\s{0,3}(\$\$|\\\[|\\begin\{([a-z]+\*?)\})")
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_INDEX = re.compile(r"[_^]\{[^{}]*\}")
# Definitions would affect formulas in other cells; the rest makes links, styles or loads code.
_REFUSED = re.compile(
    r"\\(?:g?def|let|futurelet|(?:re|provide)?(?:new)?(?:command|environment)|newcommand|DeclareMathOperator|require"
    r"|href|url|style|class|cssId|data|includegraphics|html\w*|ref|eqref|label|special|input|bbox|mmlToken)(?![a-zA-Z])"
)
_DELIMITERS = re.compile(r"[$\\]+")


def to_html(source: str) -> str:
    """Safe HTML for `source`; never raises. Deeply nested markup becomes plain text."""
    import nh3

    return nh3.clean(
        _parser().render(prose(source)),
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        attribute_filter=_kept,
        set_tag_attribute_values={"a": {"target": "_blank"}},
        link_rel="noopener noreferrer nofollow",
    )


def _kept(tag: str, name: str, value: str) -> str | None:
    if name == "style":
        return value if value in _styles() else None
    if name == "class":
        return value if value == _CLASSES.get(tag, NO_CONTENTS) else None
    if name == "href":
        return value if _LINK.match(value) else None
    return prose(value)


@cache
def _styles() -> frozenset[str]:
    own = re.findall(r'style="([^"]*)"', pre(""))
    return highlight.STYLES | {UNDERLINED, *own, *(f"text-align:{side}" for side in ("left", "center", "right"))}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "maths", _inline_formula)
    parser.block.ruler.before("fence", "maths_block", _display_formula, {"alt": ["paragraph", "blockquote", "list"]})
    parser.core.ruler.push("tame", _tame)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _tame(state: StateCore) -> None:
    for index, token in enumerate(state.tokens):
        if token.type in ("td_open", "th_open"):
            # JupyterLab aligns the cells of every table outside its own markdown to the right
            token.attrs.setdefault("style", "text-align:left")
        if token.type == "heading_open":
            token.attrs["class"] = NO_CONTENTS
        if token.type == "inline" and token.children:
            if index > 1 and state.tokens[index - 2].type == "list_item_open":
                _tick(token.children[0])
            token.children = _tame_links(token.children)


def _tick(first: Token) -> None:
    task = _TASK.match(first.content) if first.type == "text" else None
    if task:
        first.content = ("☐" if task[1] == " " else "☑") + first.content[task.end() :]


def _tame_links(tokens: list[Token]) -> list[Token]:
    tamed: list[Token] = []
    link: Token | None = None
    for token in tokens:
        if token.type == "link_open":
            link = _harmless(token)
        elif token.type == "link_close" and link is not None:
            token.tag, link = link.tag, None
        tamed.extend(_image_link(token, inside=link is not None) if token.type == "image" else [token])
    return tamed


def _harmless(link: Token) -> Token:
    """A link into Jupyter, or with an unknown scheme, becomes text with its address as tooltip."""
    href = str(link.attrs.get("href", ""))
    if not _LINK.match(href):
        link.tag, link.attrs = "span", {"title": href}
    else:
        link.attrs["style"] = UNDERLINED
    return link


def _image_link(image: Token, inside: bool) -> list[Token]:
    from markdown_it.token import Token

    source = str(image.attrs.get("src", ""))
    text = Token("text", "", 0, content=f"[image: {image.content or 'no description'}] {source}".rstrip())
    if inside or not _LINK.match(source):
        return [text]
    return [Token("link_open", "a", 1, attrs={"href": source, "style": UNDERLINED}), text, Token("link_close", "a", -1)]


def _text(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Text in which MathJax finds nothing."""
    text = html.escape(prose(tokens[index].content), quote=False)  # entities have been decoded
    return _DELIMITERS.sub(rf'<span class="{NO_MATHS}">\g<0></span>', text)


def _fence(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    language = (tokens[index].info.split() or [""])[0].strip("{}.").lower()
    body = highlight.highlighted(tokens[index].content, language)
    return pre(body, kind=CODE_BLOCK) + "\n"


def _code(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"<code>{html.escape(tokens[index].content)}</code>"


def _formula(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return html.escape(tokens[index].content)


def _formula_block(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"<p>{_formula(renderer, tokens, index, options, env)}</p>\n"


_RULES = {
    "text": _text,
    "code_inline": _code,
    "code_block": _fence,
    "fence": _fence,
    "maths": _formula,
    "maths_block": _formula_block,
}


# -- formulas ---------------------------------------------------------------------------------------------------------


def _inline_formula(state: StateInline, silent: bool) -> bool:
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
    close = _CLOSING.get(source[start : start + 2])
    if close:
        end = source.find(close, start + 2, min(limit, start + _MAX_FORMULA_CHARS)) + 2
        return end if end > start + 4 and not _REFUSED.search(source, start, end) else 0
    found = _DOLLARS.match(source, start, limit)
    return found.end() if found and _is_formula(found[1]) else 0


def _is_formula(text: str) -> bool:
    if _REFUSED.search(text):
        return False
    rest = _INDEX.sub("", _COMMAND.sub("", text))
    has_command = _COMMAND.search(text) is not None
    return has_command or (bool(re.search("[A-Za-z]", text)) and not re.search(r"[A-Za-z]{2}|\d[A-Za-z]\d", rest))


def _display_formula(state: StateBlock, first: int, limit: int, silent: bool) -> bool:
    opening = _OPENING.match(_line(state, first))
    if opening is None or state.is_code_block(first):
        return False
    close = f"\\end{{{opening[2]}}}" if opening[2] else _CLOSING[opening[1]]
    last = _closing_line(state, first, limit, close, opening.end())
    text = state.getLines(first, last + 1, state.blkIndent, False)
    if last < 0 or _REFUSED.search(text):
        return False
    if not silent:
        token = state.push("maths_block", "", 0)
        token.content, token.map, state.line = text, [first, last + 1], last + 1
    return True


def _closing_line(state: StateBlock, first: int, limit: int, close: str, start: int) -> int:
    """Number of the line that ends with `close`, or -1; a formula contains no empty line."""
    for number in range(first, min(limit, first + _MAX_FORMULA_LINES)):
        line = _line(state, number)[start if number == first else 0 :].rstrip()
        if line.endswith(close):
            return number
        if state.isEmpty(number) or close in line:
            break
    return -1


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
