"""An agent's markdown as HTML that is safe where nothing is sanitised: JupyterLab trusts fresh output.

markdown-it-py with HTML off, then an allow-list (nh3): no images (they become links, nothing is ever fetched), links to
http, https and mailto only, `style` and `class` only with the very values that we write ourselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from . import highlight, maths
from .markup import NO_MATHS, pre
from .plain import clean, visible_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_TAGS = frozenset(
    {"a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s"}
    | {"span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "pre": {"style"},
    "span": {"class", "style", "title"},
    "td": {"style"},
    "th": {"style"},
}
_SCHEMES = {"http", "https", "mailto"}
_LINK = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_DEEPEST = 20


def to_html(source: str) -> str:
    """Safe HTML for `source`; never raises. What is nested deeper than anybody reads comes as plain text."""
    import nh3

    return nh3.clean(
        _parser().render(clean(source)),
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
        return value if value == NO_MATHS else None
    if name == "href":
        return value if _LINK.match(value) else None
    return value


@cache
def _styles() -> frozenset[str]:
    own = re.findall(r'style="([^"]*)"', pre(""))
    return highlight.STYLES | {*own, *(f"text-align:{side}" for side in ("left", "center", "right"))}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    maths.install(parser)
    parser.core.ruler.push("tame", _tame)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _tame(state: StateCore) -> None:
    for index, token in enumerate(state.tokens):
        if token.type in ("td_open", "th_open"):
            # JupyterLab aligns the cells of every table outside its own markdown to the right
            token.attrs.setdefault("style", "text-align:left")
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
    """A link to a place inside Jupyter, or to a scheme that we do not know, is text with its address as tooltip."""
    href = str(link.attrs.get("href", ""))
    if not _LINK.match(href):
        link.tag, link.attrs = "span", {"title": href}
    return link


def _image_link(image: Token, inside: bool) -> list[Token]:
    from markdown_it.token import Token

    source = str(image.attrs.get("src", ""))
    text = Token("text", "", 0, content=f"[image: {image.content or 'no description'}] {source}".rstrip())
    if inside or not _LINK.match(source):
        return [text]
    return [Token("link_open", "a", 1, attrs={"href": source}), text, Token("link_close", "a", -1)]


def _text(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return maths.not_maths(tokens[index].content)


def _fence(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    language = (tokens[index].info.split() or [""])[0].strip("{}.").lower()
    return pre(highlight.highlighted(visible_text(tokens[index].content, gaps=False), language)) + "\n"


def _code(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    return f"<code>{escapeHtml(visible_text(tokens[index].content, gaps=False))}</code>"


def _formula(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    return escapeHtml(tokens[index].content)


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
