"""Which HTML the package may write: anything else in a bundle is injected."""

import re
from html.parser import HTMLParser

TAGS = {
    *("a", "audio", "blockquote", "br", "code", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr"),
    *("del", "img", "ins", "li", "ol", "p", "pre", "s", "span", "strong", "summary", "table", "tbody", "td", "th"),
    *("thead", "tr", "ul"),
}  # fmt: skip
EMPTY = {"br", "hr", "img"}
ANYWHERE = {"style", "class", "title", "role", "aria-label"}
ATTRIBUTES = {
    "a": {"href", "target", "rel", "download"},
    "audio": {"controls", "src"},
    "details": {"open"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "span": {"aria-hidden", "inert"},
}
LINK = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
FILE = re.compile(r"[\w%-][\w.~%/-]*")
"""Relative, and without a scheme."""
SAVED = re.compile(r"data:application/octet-stream;base64,[A-Za-z0-9+/]+=*")
"""Bytes: no browser opens them as a page, it can only save them."""
DATA = re.compile(r"data:(?:image/(?:png|jpeg|gif|webp|svg\+xml)|audio/[a-z0-9-]+);base64,[A-Za-z0-9+/]+=*")
CLASSES = {
    *("mathjax_ignore tex2jax_ignore", "mathjax_ignore tex2jax_ignore copilot-asked", "copilot-asked-open"),
    *("copilot-cell-command", "copilot-code", "copilot-command", "copilot-deferred", "copilot-last-seen", "tocSkip"),
    *(
        "mathjax_ignore tex2jax_ignore copilot-failure",
        "mathjax_ignore tex2jax_ignore copilot-failure copilot-no-agent",
    ),
}
MIX = re.compile(r"color-mix\(in srgb,currentcolor (\d+)%,rgb\((\d+),(\d+),(\d+)\)\)")
_DECLARATION = rf"[a-z-]+:(?:[#\w.%, -]+|{MIX.pattern})"
STYLE = re.compile(rf"{_DECLARATION}(?:;{_DECLARATION})*")
PROPERTIES = {
    *("background-color", "border-left", "border-radius", "color", "cursor", "display", "font-family", "font-size"),
    *("flex", "flex-wrap", "min-width", "overflow-wrap", "word-break", "border-left-color"),
    *("font-style", "font-weight", "line-height", "margin", "margin-left", "margin-top", "max-height", "opacity"),
    *("overflow", "padding", "text-align", "text-decoration", "white-space"),
}
"""All of them are kept by JupyterLab's sanitiser."""


class Reader(HTMLParser):
    """Collects what is not allowed, and the text that a reader sees."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            self.check(tag, name, value or "")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"<?{data}")

    def unknown_decl(self, data: str) -> None:
        self.problems.append(f"<![{data}")

    def check(self, tag: str, name: str, value: str) -> None:
        if name not in ANYWHERE | ATTRIBUTES.get(tag, set()):
            self.problems.append(f"<{tag} {name}>")
        elif not _VALUES.get(name, _anything)(value):
            self.problems.append(f"<{tag} {name}={value!r}>")


def problems(html: str) -> list[str]:
    """What in `html` is not allowed, or not closed."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.problems + [f"<{tag}> is not closed" for tag in reader.open]


def text_of(html: str) -> str:
    """What a reader sees."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.text)


class _Lines(Reader):
    """Starts a new line wherever a block begins or ends; what is preformatted keeps its own."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        self.text.append(_BREAKS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        self.text.append(_BREAKS.get(tag, ""))

    def handle_data(self, data: str) -> None:
        self.text.append(data if "pre" in self.open else re.sub(r"\s+", " ", data))


_BREAKS = {"td": " ", "th": " ", **dict.fromkeys(TAGS - {"a", "audio", "code", "del", "em", "img", "ins", "s", "span",
                                                       "strong", "td", "th"}, "\n")}  # fmt: skip


def lines_of(html: str) -> list[str]:
    """What a reader sees, line by line, without the empty ones and without styles: as where they are taken out."""
    reader = _Lines()
    reader.feed(html)
    reader.close()
    return [line.rstrip() for line in "".join(reader.text).splitlines() if line.strip()]


def _anything(value: str) -> bool:
    return True


def _is_style(value: str) -> bool:
    names = {part.split(":")[0] for part in value.split(";")}
    return bool(STYLE.fullmatch(value)) and names <= PROPERTIES and "url" not in value


_VALUES = {
    "style": _is_style,
    "class": CLASSES.__contains__,
    "href": lambda value: bool(LINK.fullmatch(value) or FILE.fullmatch(value) or SAVED.fullmatch(value)),
    "download": lambda value: bool(re.fullmatch(r"[\w-][\w.-]{0,79}", value)),
    "src": lambda value: bool(DATA.fullmatch(value)),
    "target": lambda value: value == "_blank",
    "rel": lambda value: value == "noopener noreferrer nofollow",
    "start": str.isdigit,
    "tabindex": "0".__eq__,
    "aria-hidden": "true".__eq__,
}
