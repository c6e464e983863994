"""Cells and outputs as the agent reads them, cut to what agents take."""

from __future__ import annotations

import base64
import binascii
import html
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from ..conversation.raw import as_json
from ..redaction import redactor
from ..rendering.output import final_lines
from ..rendering.plain import ESCAPE
from ..tags import tagged
from .charts import chart_in_page, shortened
from .live import NotebookCell, Output, VariableSummary
from .sources import source_hash

Json = dict[str, Any]

CELL, SOURCE, OUTPUT, VARIABLE, VARIABLES = (
    "notebook-cell",
    "cell-source",
    "cell-output",
    "notebook-variable",
    "notebook-variables",
)
"""The tags of what the agent reads."""
ASKING = "this is where the user asked you"

MAX_TEXT_CHARS = 16_000
"""Limit of one text; some agents replace a much longer one by a short preview."""
TAIL_CHARS = 3_000
"""Share of `MAX_TEXT_CHARS` that goes to the end of a text that is cut."""
BRIEF_CHARS = 1_500
"""Limit of the outputs of each cell where all cells are read."""
MAX_IMAGES = 8
MAX_IMAGE_CHARS = 7_000_000
"""Limit of all images of one result, in base64."""

_MARK_CHARS = 200
_IMAGES = ("image/png", "image/jpeg")
_TEXTS, _PAGES = ("text/markdown", "text/latex"), ("text/html", "image/svg+xml")
_BARE = re.compile(r"<[^\n]*>|<[^\n]* object>\n[^\0]*|[\w.]+\(\.\.\.\)")
"""All that Python says of an object that shows itself in another way, such as `<Figure size 640x480 with 1 Axes>`."""
_FRAME = re.compile(r"<iframe\b[^<>]*?\bsrcdoc=([\"'])(.*?)(?:\1|\Z)[^<>]*>?", re.DOTALL | re.IGNORECASE)
FRAME = "a page in a frame"
_CELL_END = re.compile(r"</t[dh]\s*>\s*", re.IGNORECASE)
_BREAK = re.compile(
    r"</?(?:blockquote|br|caption|d[dlt]|desc|div|h[1-6]|hr|li|ol|option|p|section|summary|table|tbody|text|thead|title"
    r"|tr|ul)\b[^<>]*>\s*|</?pre\b[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"<(style|script|head|metadata)\b.*?(?:</\1\s*>|\Z)|<[/\w!?][^<>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
"""A tag; together with its content where that shows nothing."""
_PNG = b"\x89PNG\r\n\x1a\n"


class Reading(NamedTuple):
    """Outputs as text, not cut yet, and the images in them as content of MCP."""

    text: str
    images: tuple[Json, ...] = ()


def read_outputs(outputs: Iterable[Output]) -> Reading:
    """All of the outputs in order, each in a tag that none of them contains; secrets are hidden."""
    read = _readings(outputs)
    images = [image for *_, image in read if image]
    sent = images_within(images)
    unsent = len(images) - len(sent)
    note = f"({unsent} of {len(images)} images are not sent: too many, or too large together.)" if unsent else ""
    texts = [text for _, text, _ in read]
    found = (tagged(OUTPUT, text, *texts, kind=kind) for kind, text, _ in read if text)
    return Reading("\n".join(filter(None, (*found, note))), sent)


def output_texts(outputs: Iterable[Output]) -> list[tuple[str, str]]:
    """Kind and text of each of the outputs; secrets are hidden."""
    return [(kind, text) for kind, text, _ in _readings(outputs) if text]


def images_within(images: Iterable[Json]) -> tuple[Json, ...]:
    """Return the images that fit into one result, the first ones first."""
    sent: list[Json] = []
    room = MAX_IMAGE_CHARS
    for image in images:
        if len(sent) < MAX_IMAGES and len(image["data"]) <= room:
            sent.append(image)
            room -= len(image["data"])
    return tuple(sent)


def text_block(text: str) -> Json:
    """A text as content of MCP. Half a surrogate pair, which is no Unicode text, becomes a question mark."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode("utf-8")}


def cut(text: str, how: Callable[[int], str], offset: int = 0, limit: int = MAX_TEXT_CHARS) -> str:
    """Return at most `limit` characters of `text` from `offset` on: head, tail, and `how` to read on from an offset."""
    rest = text[offset:]
    if len(rest) <= limit:
        return rest if rest or not offset else f"(The text ends at {len(text)}.)"
    if limit < 2 * _MARK_CHARS:
        return rest[:limit]
    tail = min(TAIL_CHARS, limit // 4)
    head = limit - tail - _MARK_CHARS
    missing = len(rest) - head - tail
    mark = f"\n… {missing} characters left out; to continue: {how(offset + head)} …\n"
    return f"{rest[:head]}{mark}{rest[-tail:]}"


# -- cells ------------------------------------------------------------------------------------------------------------


def cell_attributes(cell: NotebookCell, number: int = 0, *, is_asking: bool = False) -> Json:
    """Return the attributes of a cell's tag; `number` is its place, if it is known."""
    state = {
        "executed": cell.execution_count,
        "error": cell.error,
        "running": cell.running and "yes",
        "note": is_asking and ASKING,
    }
    return {"number": number, "id": cell.id, "type": cell.type, "hash": source_hash(cell.source), **state}


def cell_parts(source: str, outputs: str = "") -> str:
    """Return the content of a cell's tag; `outputs` are in tags already."""
    source = tagged(SOURCE, source, outputs)
    return f"{source}\n{outputs}" if outputs else source


def variable_text(variable: VariableSummary) -> str:
    """A variable in one line."""
    return " ".join(filter(None, (f"{variable.name}: {variable.type}", variable.size, variable.value)))


def fenced(code: str, language: str = "python") -> str:
    """A block of Markdown that `code` cannot end."""
    longest = max(map(len, re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


# -- outputs ----------------------------------------------------------------------------------------------------------


def _readings(outputs: Iterable[Output]) -> list[tuple[str, str, Json | None]]:
    """Kind, text and image of each of the outputs; secrets are hidden."""
    read = map(_read, _with_joined_streams(outputs))
    return [(kind, redactor().text(text), image) for kind, text, image in read]


def _read(output: Output) -> tuple[str, str, Json | None]:
    """Return kind, text and image of an output."""
    match output.get("output_type"):
        case "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            return name, _clean(output.get("text")).rstrip("\n"), None
        case "error":
            return "error", _error(output), None
        case "execute_result" | "display_data":
            data = output.get("data")
            return "result", *_data(data if isinstance(data, Mapping) else {})
    return "", "", None


def _with_joined_streams(outputs: Iterable[Output]) -> Iterator[Output]:
    """A stream comes in pieces, which may end anywhere."""
    streams = groupby(outputs, lambda output: output.get("name") if output.get("output_type") == "stream" else None)
    for name, group in streams:
        if name is None:
            yield from group
        else:
            yield {"output_type": "stream", "name": name, "text": "".join(_joined(each.get("text")) for each in group)}


def _error(output: Output) -> str:
    """The traceback, which usually ends with name and value of the error."""
    name, value = _clean(output.get("ename")), _clean(output.get("evalue"))
    frames = output.get("traceback")
    text = "\n".join(map(_clean, frames)) if isinstance(frames, list | tuple) else ""
    words = f"{name}: {value}".strip(": ")
    return text if words in text else "\n".join(filter(None, (text, words)))


def _data(data: Mapping[str, Any]) -> tuple[str, Json | None]:
    """Text as well as an image; at least what kinds there are."""
    plain = _clean(data.get("text/plain")).strip("\n")
    kinds = (*_TEXTS, *(kind for kind in data if kind.endswith("json") and "widget" not in kind), *_PAGES)
    rich = filter(None, (_text(kind, data[kind]) for kind in kinds if kind in data))
    text = plain if plain and not _BARE.fullmatch(plain) else next(rich, plain)
    image_kind = next((kind for kind in (*_IMAGES, *data) if kind in data and kind.startswith("image/")), "")
    words, image = _image(image_kind, data[image_kind]) if image_kind else ("", None)
    return ": ".join(filter(None, (words, text))) or ", ".join(data), image


def _text(kind: str, value: Any) -> str:
    """Return the text of a value; of a chart its JSON, shortened."""
    if kind.endswith("json"):
        is_whole = kind == "application/json" or isinstance(value, str)  # a text was cut by the page
        return as_json(value if is_whole else shortened(value))
    if not kind.endswith(("html", "xml")):
        return _clean(value).strip("\n")
    page = _joined(value)
    chart = chart_in_page(page)
    return page_text(page) if chart is None else as_json(shortened(chart))


def page_text(page: str) -> str:
    """Return the rough text of HTML or SVG: a line for each block, tabs between the cells of a table."""
    shown = _FRAME.sub(lambda frame: f"\n{html.escape(page_text(html.unescape(frame[2])) or FRAME)}\n", page)
    text = html.unescape(_TAG.sub("", _BREAK.sub("\n", _CELL_END.sub("\t", shown))))
    return "\n".join(filter(None, map(str.rstrip, text.split("\n"))))


def _image(kind: str, value: Any) -> tuple[str, Json | None]:
    encoded = "".join(_joined(value).split())
    if kind not in _IMAGES or not encoded or len(encoded) > MAX_IMAGE_CHARS:  # the page leaves out what is too large
        return f"image ({kind}, not sent)", None
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return f"image ({kind}, which cannot be read)", None
    image = {"type": "image", "data": encoded, "mimeType": kind}
    if raw[:8] == _PNG and raw[12:16] == b"IHDR" and len(raw) >= 24:
        return "figure {}×{}".format(*struct.unpack(">II", raw[16:24])), image
    return f"image ({kind})", image


def _clean(value: Any) -> str:
    """Return text as a terminal would show it, without its escapes."""
    return ESCAPE.sub("", final_lines(_joined(value)))


def _joined(value: Any) -> str:
    """A multi-line string of nbformat: one string, or a list of them."""
    parts = value if isinstance(value, list | tuple) else [value]
    return "".join(part for part in parts if isinstance(part, str))
