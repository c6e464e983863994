"""The pieces of HTML that everything here is made of; all untrusted text passes `escape` or `exposed`.

Styles are inline and use only what JupyterLab's sanitiser keeps when a saved notebook is opened untrusted: no `var()`,
no style sheet, no ARIA (so a word stands beside every mark). Backgrounds are translucent. No colour has enough
contrast (4.5:1) on white and on #111, so text gets a mix of its hue and the page's own text colour.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import partial
from posixpath import normpath
from typing import Any, NamedTuple
from urllib.parse import quote

from ..system.drives import has_drive, shown_path
from .plain import CODE_SPAN, is_visible, prose, visible, visible_line

Bundle = dict[str, Any]
"""MIME type to data; there is always `text/plain`."""


class Shown(NamedTuple):
    """A part of a view in HTML and as text; empty where nothing is shown."""

    html: str = ""
    text: str = ""


def text_colour(hue: str) -> str:
    """`hue` (#rrggbb, about equally far from white and black) as a colour for text on light and dark pages.

    `rgb()` inside, since JupyterLab's sanitiser drops other mixes; without it, text has the page's colour.
    """
    red, green, blue = bytes.fromhex(hue.removeprefix("#"))
    return f"color-mix(in srgb,currentcolor 45%,rgb({red},{green},{blue}))"


def stronger(colour: str) -> str:
    """A `text_colour` nearer to the page's own text: it can be read on changed words in a diff, too."""
    return colour.replace("currentcolor 45%", "currentcolor 60%")


GREY, RED, GREEN = text_colour("#797979"), text_colour("#d74540"), text_colour("#298a41")
AMBER, BLUE = text_colour("#9f7010"), text_colour("#3479cf")
TINT, LINE = "#8881", "#8884"
ADDED, REMOVED, HIDDEN = "#2ea04326", "#f8514926", "#f8514955"
ADDED_WORDS, REMOVED_WORDS = "#2ea0434d", "#f851494d"
"""Colours on top of the others; text keeps a contrast of more than 4.5:1 on both."""
NO_MATHS = "mathjax_ignore tex2jax_ignore"
NO_CONTENTS = "tocSkip"
"""Class of headings that JupyterLab's table of contents leaves out: it lists them anew whenever an output changes."""
ASKED = "copilot-asked"
"""Class for the style sheet that comes with the buttons (`copilot_widgets`)."""
CHOICES = "copilot-choices"
"""Class of what is hidden above a picker."""
UNDO = "copilot-undo"
"""Class of what a turn has changed, to which the front-end extension adds a button."""
FAILURE, NO_AGENT = "copilot-failure", "copilot-no-agent"
OF_FAILURE = "copilot-of-failure"
"""Class of a question whose buttons belong to the card of a failure above it."""
COMMAND, CELL_COMMAND = "copilot-command", "copilot-cell-command"
"""For the front-end extension: classes of an error's card, of one without an agent, and of commands in it."""
CODE_BLOCK = "copilot-code"
"""Class of an agent's code blocks, to which the front-end extension adds buttons."""
DEFERRED = "copilot-deferred"
"""Class of a part of a long text, which browsers lay out only in view, by the front-end extension's style sheet."""
FONT = "font-family:Menlo, Consolas, monospace"
"""Set even for `pre`: nbconvert pages set their own font."""
PRE = (
    f"margin:4px 0;padding:6px 10px;background-color:{TINT};border-radius:4px;overflow:auto;white-space:pre-wrap;{FONT}"
)
CODE = f"background-color:{TINT};padding:1px 4px;border-radius:3px;{FONT}"
UNDERLINED = "text-decoration:underline"
"""Style of links: nbconvert and JupyterLab tell them from other text by their colour alone."""
_EMPTY_LINE = re.compile(r"\n(?=[ \t]*\n)")
INDENT = ";margin-left:20px"
CARD = "margin:2px 0;padding:1px 0 1px 10px;border-left:3px solid;border-left-color:"


def escape(text: object) -> str:
    """`text` for an element's content or a quoted attribute."""
    return html.escape(prose(text), quote=True)


def span(text: object, style: str, title: object = "") -> str:
    """Escaped `text` in our own `style`, with an escaped tooltip."""
    return f'<span style="{style}"{_title(title)}>{escape(text)}</span>'


def muted(text: object, title: object = "") -> str:
    """Escaped `text` in grey; empty for empty text."""
    return span(text, f"color:{GREY}", title) if text else ""


def code(text: object) -> str:
    """Exposed `text` as inline code."""
    return f'<code style="{CODE}">{exposed(text)}</code>'


def with_code(text: str, style: str = "") -> str:
    """Exposed `text` in our own `style`, with what stands between backticks as code; empty for empty text."""
    draw = partial(named, style=style) if style else exposed
    parts = enumerate(CODE_SPAN.split(text))
    return "".join(code(part) if index % 2 else draw(part) for index, part in parts if part)


def pre(body: str, style: str = "", name: str = "", kind: str = "") -> str:
    """HTML `body` as preformatted lines. With a `name` for screen readers, it can be scrolled by keyboard. `kind` is a
    class.
    """
    first = "<span></span>" if body.startswith("\n") else ""  # HTML drops a newline at the very start
    region = f' tabindex="0" role="region" aria-label="{escape(name)}"' if name else ""
    named_kind = f'class="{kind}" ' if kind else ""
    return f'<pre {named_kind}style="{PRE}{";" + style if style else ""}"{region}>{first}{body}</pre>'


def fold(summary: str, body: str, *, is_open: bool = False) -> str:
    """HTML `body` that the reader opens; `summary` is HTML too."""
    opened = " open" if is_open else ""
    return f'<details{opened}><summary style="cursor:pointer">{summary}</summary>{body}</details>'


def card(body: str, colour: str = LINE, name: str = "", style: str = "") -> str:
    """HTML `body` as a block in which MathJax finds no formulas. `name` is an additional class, `style` our own."""
    return f'<div class="{NO_MATHS}{" " if name else ""}{name}" style="{CARD}{colour}{style}">{body}</div>'


def without_buttons(body: str) -> str:
    """HTML `body` that is hidden where buttons stand below."""
    return f'<div class="{ASKED}-open">{body}</div>'


def row(*parts: str) -> str:
    """The parts that are not empty, on one line."""
    return f"<div>{' '.join(part for part in parts if part)}</div>"


def exposed(text: object, *, gaps: bool = True) -> str:
    """Escaped `text` in which every hidden character is a marked, named code; see `visible`."""
    if isinstance(text, str) and is_visible(text):  # almost always, and much faster
        return html.escape(text, quote=True)
    return "".join(_expose(shown, name) for shown, name in visible(text, gaps=gaps))


def named(text: object, style: str, title: object = "") -> str:
    """An untrusted name, path or title in our own `style`: exposed `text`; empty for empty text."""
    return f'<span style="{style}"{_title(title)}>{exposed(text)}</span>' if text else ""


def file_link(path: str, cwd: str) -> str:
    """`path`, relative to `cwd` and as a link that JupyterLab opens, if it lies in `cwd` as it is written.

    Any other path is text, also one with `..` or hidden characters, and a hidden one. The link is right for a notebook
    in `cwd`, which is the default.
    """
    inside = shown_path(path, cwd)
    is_absolute = inside.startswith((".", "/", "~", "\\")) or has_drive(inside)
    is_inside = cwd and normpath(inside) == inside == visible_line(inside) and not is_absolute
    shown = exposed(inside if is_inside else path)
    return f'<a href="{quote(inside)}" style="{UNDERLINED}">{shown}</a>' if is_inside else shown


def bundle(body: str, plain: str) -> Bundle:
    """HTML and its plain text. Empty lines are encoded: in a Markdown export they would end the HTML."""
    return {"text/html": _EMPTY_LINE.sub("&#10;", body), "text/plain": plain}


def lines(parts: Iterable[str]) -> str:
    """The parts that are not empty, one below the other."""
    return "\n".join(part for part in parts if part)


def _expose(shown: str, name: str) -> str:
    if not name:
        return html.escape(shown, quote=True)
    return f'<span style="background-color:{HIDDEN}" title="{html.escape(name)}">{html.escape(shown)}</span>'


def _title(text: object) -> str:
    return f' title="{escape(text)}"' if text else ""
