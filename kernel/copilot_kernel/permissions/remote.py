"""Hosts from which a page loads something when it shows Markdown: an image is a request that can carry data.

A link is loaded by a click only. What may load more than it names, or cannot be read, counts as loading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ..acp.messages import Diff
from ..conversation import inputs
from . import call_input
from .request import PolicyRequest

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# In lower case.
_SUFFIXES = (".md", ".markdown")
UNKNOWN_HOST_WORDS = "a host that is not known"
# Of one text; to read it takes about a second.
MAX_MARKDOWN_CHARS = 100_000
# As browsers read it: also `https:host`, `//host` and `\\host`.
_HOST = re.compile(r"(?:\b(?:https?|ftp|wss?):[/\\]*|(?<![\w/\\])[/\\]{2,})([^\s/\\?#\"'<>(),;]+)", re.IGNORECASE)
# Of a style.
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
# One without attributes loads nothing, unless its text is a script or a style.
_ELEMENT = re.compile(r"<((?:script|style)(?=[\s/>])|[a-z][^\s/>]*(?=[\s/>])(?!\s*/?>))([^<]*)", re.IGNORECASE)
_PATCH = re.compile(r"^(?:@@|\*\*\* )", re.MULTILINE)


def added_hosts(request: PolicyRequest) -> tuple[str, ...]:
    """Return hosts that a page would load from after an edit of a Markdown cell or file, and did not before."""
    if request.call.kind != "edit" or not _is_markdown(request):
        return ()
    return tuple(sorted({host for old, new in _changes(request) for host, _ in _sources(new) - _sources(old)}))


def _is_markdown(request: PolicyRequest) -> bool:
    places = (place for path in request.paths for place in path.places)
    is_cell = inputs.member(request.call.raw_input, "cell_type") == "markdown"
    return is_cell or any(place.lower().endswith(_SUFFIXES) for place in places)


def _changes(request: PolicyRequest) -> Iterator[tuple[str, str]]:
    """Old and new text of each change; without a diff, all that the call says is new."""
    texts = [value for _, value in call_input.leaves(request.call.raw_input) if value not in request.given.paths]
    diffs = [(part.old_text or "", part.new_text) for part in request.call.content if isinstance(part, Diff)]
    patches = [(_side("-", text), _side("+", text)) for text in texts if _PATCH.search(text)]
    yield from (*diffs, *patches) or (("", text) for text in texts)


def _side(mark: str, patch: str) -> str:
    return "\n".join(line[1:] for line in patch.split("\n") if line[:1] in (" ", mark))


@lru_cache(maxsize=32)
def _sources(text: str) -> frozenset[tuple[str, str]]:
    """Each host, or what could be any, with what tells it from others of that name."""
    try:
        if len(text) > MAX_MARKDOWN_CHARS:
            raise ValueError
        env = dict[str, Any]()
        html = _parser().render(text, env)
        return frozenset(_of_page(html, [each["href"] for each in env.get("references", {}).values()]))
    except (ValueError, RecursionError):
        return frozenset({(UNKNOWN_HOST_WORDS, text)})


def _of_page(html: str, definitions: list[str]) -> Iterator[tuple[str, str]]:
    """A definition that no link uses may be that of an image elsewhere in the file."""
    import nh3

    attributes = list[tuple[str, str, str]]()
    harmless = {*nh3.ALLOWED_TAGS, "audio", "picture", "source", "video"}
    nh3.clean(
        html,
        tags=harmless,
        attributes={},
        generic_attribute_prefixes={""},
        attribute_filter=lambda *each: attributes.append(each),
        link_rel=None,
        url_schemes={"http", "https", "ftp", "ws", "wss", "file", "data"},
    )
    active = [(name, value) for _, name, value in attributes if name.startswith("on")]
    active += [(name, rest) for name, rest in _ELEMENT.findall(html) if name.lower() not in harmless]
    yield from ((f"anywhere (`{name}`)", rest) for name, rest in active)
    links = {value for tag, name, value in attributes if (tag, name) == ("a", "href")}
    addresses = {
        value for tag, name, value in attributes if name not in ("alt", "title") and (tag, name) != ("a", "href")
    }
    for address in (*addresses, *(rest for _, rest in active), *(each for each in definitions if each not in links)):
        plain = re.sub(r"[\t\r\n]", "", address)
        unescaped = _ESCAPE.sub(lambda code: chr(int(code[1], 16) % 0x110000), plain)
        found = (host for each in (address, plain, unescaped) for host in _HOST.findall(each))
        yield from ((host.rpartition("@")[2].lower(), "") for host in found)


@cache
def _parser() -> MarkdownIt:
    """Parse as the page does, or read more: programs disagree about indented code, nesting and addresses."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_MARKDOWN_CHARS}).enable("table")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.add_render_rule("code_block", lambda _, tokens, at, options, env: parser.render(tokens[at].content, env))
    return parser
