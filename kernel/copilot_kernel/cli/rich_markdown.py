"""An agent's Markdown drawn with rich, an optional dependency.

Nothing in it controls the terminal or hides: escape sequences are dropped, hidden characters are shown as codes, HTML
is text, and an address stands beside the words or the picture that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ..rendering.plain import prose

if TYPE_CHECKING:
    from markdown_it.token import Token

_TRAILING_BLANKS = re.compile(r"[ ]+$", re.MULTILINE)
# Those that follow the terminal's own palette.
_CODE_THEME = "ansi_dark"
_STYLES = {"markdown.code": "cyan", "markdown.h1": "bold underline", "markdown.h2": "bold", "markdown.h3": "bold"}


def renderer(out: TextIO) -> Callable[[str], str] | None:
    """What draws Markdown for `out`, a terminal; None if rich is not installed. rich follows NO_COLOR."""
    try:
        from rich.console import Console
        from rich.theme import Theme
    except ImportError:
        return None
    markdown = _markdown_class()
    console = Console(file=out, theme=Theme(_STYLES))

    def render(source: str) -> str:
        with console.capture() as drawn:
            console.print(markdown(source))
        return _TRAILING_BLANKS.sub("", drawn.get()).strip("\n")

    return render


def _markdown_class() -> Callable[[str], Any]:
    from markdown_it import MarkdownIt
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Heading, Markdown

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

    class LeftHeading(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield self.text

    class SafeMarkdown(Markdown):
        elements = Markdown.elements | {"heading_open": LeftHeading}

        def __init__(self, source: str) -> None:
            super().__init__("", code_theme=_CODE_THEME, hyperlinks=False)
            self.parsed = list(_exposed(parser.parse(prose(source))))

    return SafeMarkdown


def _exposed(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens with nothing hidden in them; entities have been decoded."""
    for token in tokens:
        token.content = prose(token.content)
        token.attrs = {name: prose(value) if isinstance(value, str) else value for name, value in token.attrs.items()}
        token.children = list(_inline(list(_exposed(token.children or []))))
        yield token


def _inline(tokens: list[Token]) -> Iterator[Token]:
    """Pictures as text; an address that stands in the text is not repeated."""
    from markdown_it.token import Token

    is_address = False
    for index, token in enumerate(tokens):
        if token.type == "link_open":  # something always follows, if only its end
            is_address = tokens[index + 1].content == token.attrs["href"]
        if token.type == "image":
            yield Token("text", "", 0, content=f"[image: {token.content or 'no description'}] ({token.attrs['src']})")
        elif not (is_address and token.type in ("link_open", "link_close")):
            yield token
