"""Content other than text: images, sounds, links, resources and unknown blocks. Nothing is ever fetched."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from urllib.parse import unquote, urlsplit

from ..acp.messages import AudioBlock, Block, EmbeddedResource, ImageBlock, ResourceLink, TextBlock, UnknownBlock
from ..conversation.model import Attachment
from ..conversation.raw import as_json
from .markdown import to_html
from .markup import GREY, UNDERLINED, Bundle, Shown, bundle, card, escape, exposed, fold, muted, named, pre, row
from .output import shortened
from .plain import clean, one_line, prose, unbroken, visible_line, visible_text

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DRAWING = "image/svg+xml"
IMAGES = _PICTURES | {_DRAWING}
SOUNDS = frozenset(f"audio/{name}" for name in ("wav", "x-wav", "mpeg", "mp3", "ogg", "webm", "flac", "aac", "mp4"))
MAX_SHOWN_CHARS = 20_000_000
"""Limit of base64 that is shown; larger data is named."""
MAX_SAVED_CHARS = 7_000_000
"""Limit of base64 that is offered for saving, since the notebook would have to hold it."""
SENT_ALONG = "Sent along"
_GREY = f"color:{GREY}"
_CONTEXT = re.compile(r"notebook:(?:(error)|cell/[^?]+(?:\?number=([0-9]*))?|(variable|value)/(.+))", re.DOTALL)
_WEB = re.compile(r"https?://[^\s]+\Z", re.IGNORECASE)


def render_attachment(entry: Attachment) -> Bundle:
    """An image has its own MIME type, everything else HTML."""
    block, shown = _as_media(entry.block), attachment(entry.block)
    if isinstance(block, ImageBlock) and block.mime_type in _PICTURES and (data := _valid(block.data)):
        return {block.mime_type: data, "text/plain": shown.text}
    return bundle(shown.html, shown.text)


def context_name(block: Block) -> str:
    """Return the name of a resource that comes from the notebook; empty for any other block."""
    match = _CONTEXT.fullmatch(block.uri) if isinstance(block, EmbeddedResource) and block.text is not None else None
    if match is None:
        return ""
    error, number, kind, name = match.groups()
    if error:
        return "the error in the last cell"
    if kind:
        return f"{kind} {unquote(name)}"
    return f"cell {number}" if number else "a cell"


def attachment(block: Block) -> Shown:
    """Return any block as HTML and for a terminal."""
    match block:
        case TextBlock(text=text):
            return Shown(to_html(text), prose(text))
        case ImageBlock(data="", uri=uri, mime_type=mime_type) if uri:
            html = card(row("▨", _link_html(ResourceLink(uri, "image")), muted(mime_type)))
            return Shown(html, f"[{one_line(mime_type) or 'image'}] {visible_line(uri)}")
        case ImageBlock() | AudioBlock():
            return _media(block)
        case ResourceLink():
            html = card(row("⇗", _link_html(block), muted(_remarks(block))))
            return Shown(html, f"[{visible_text(_name(block))}] {visible_line(block.uri)} {_remarks(block)}".rstrip())
        case EmbeddedResource():
            return _resource(block)
        case UnknownBlock(raw=raw):
            json = shortened(as_json(raw))
            html = card(fold(muted("unsupported content"), pre(exposed(json))))
            return Shown(html, f"[unsupported content]\n{visible_text(json)}")


def _media(media: ImageBlock | AudioBlock) -> Shown:
    """The image or sound itself from its data; SVG too, since an `img` runs no script."""
    is_image, mime_type = isinstance(media, ImageBlock), media.mime_type
    text = f"[{one_line(mime_type) or 'data'}, {_size(media.data)}]"
    data = _valid(media.data) if mime_type in (IMAGES if is_image else SOUNDS) else ""
    source = f"data:{mime_type};base64,{data}"
    if not data:
        mark, verb = ("▨", "shown") if is_image else ("♪", "played")
        saving = _save_html(media.data, getattr(media, "uri", ""), mime_type)
        html = card(row(mark, muted(f"{text} cannot be {verb}"), saving))
    elif is_image:
        html = f'<img src="{source}" alt="{escape(mime_type)}">'
    else:
        html = f'<audio controls="controls" src="{source}"></audio>'
    return Shown(html, text)


def _resource(resource: EmbeddedResource) -> Shown:
    mime_type, uri, text, blob = resource.mime_type, resource.uri, resource.text, resource.blob or ""
    name, size = f"▤ {named(uri, 'font-weight:bold')} {muted(mime_type)}", _size(blob)
    if text is None:
        html = card(row(name, muted(size), _save_html(blob, uri, mime_type)))
        shown = Shown(html, f"[{visible_line(uri)}, {one_line(mime_type) or 'data'}, {size}]")
    elif context := context_name(resource):
        html = card(fold(named(f"{SENT_ALONG}: {context}", _GREY), pre(exposed(shortened(text)))))
        shown = Shown(html, f"{SENT_ALONG}: {visible_line(context)} ({len(text):,} characters)")
    else:
        html = card(fold(name, pre(exposed(shortened(text)))))
        shown = Shown(html, f"[{visible_line(uri)}]\n{visible_text(shortened(text))}".rstrip())
    media = _as_media(resource)
    return shown if isinstance(media, EmbeddedResource) else Shown(attachment(media).html, shown.text)


def _as_media(block: Block) -> Block:
    """A resource that holds an image or a sound becomes one."""
    if not isinstance(block, EmbeddedResource):
        return block
    data = block.blob
    if data is None and block.mime_type == _DRAWING:
        data = base64.b64encode(clean(block.text or "").encode()).decode("ascii")
    if data and block.mime_type in IMAGES:
        return ImageBlock(data, block.mime_type, block.uri)
    return AudioBlock(data, block.mime_type) if data and block.mime_type in SOUNDS else block


def _save_html(data: str, uri: str, mime_type: str) -> str:
    """A link that saves `data`. Its type is that of plain bytes, so that no browser opens it as a page."""
    valid = _valid(data) if len(data) <= MAX_SAVED_CHARS else ""
    if not valid:
        return ""
    name = escape(file_name(uri, mime_type))
    saved = f'href="data:application/octet-stream;base64,{valid}" download="{name}"'
    return f'<a {saved} style="{UNDERLINED}">save {name}</a>'


def file_name(uri: str, mime_type: str) -> str:
    """A safe file name, from the last part of the address or from the type."""
    try:
        last = unquote(urlsplit(uri).path.rstrip("/").rpartition("/")[2])
    except ValueError:
        last = ""
    name = re.sub(r"[^\w.-]+", "_", last)[-80:].lstrip("._-")
    return name or f"attachment{mimetypes.guess_extension(mime_type) or ''}"


def _link_html(link: ResourceLink) -> str:
    if not _WEB.match(link.uri):
        return f"{named(_name(link), 'font-weight:bold')} {named(link.uri, _GREY)}"
    return (
        f'<a href="{escape(link.uri)}" target="_blank" rel="noopener noreferrer nofollow" style="{UNDERLINED}">'
        f"{exposed(_name(link))}</a> {named(link.uri, _GREY)}"
    )


def _name(link: ResourceLink) -> str:
    return unbroken(link.title) or unbroken(link.name) or "link"


def _remarks(link: ResourceLink) -> str:
    size = f"{link.size:,} bytes" if link.size is not None else ""
    return " · ".join(filter(None, (one_line(link.description), one_line(link.mime_type), size)))


def _valid(data: str) -> str:
    """`data` as strict base64 without white space; empty if it is not base64, or too long."""
    compact = "".join(data.split())
    if not compact or len(compact) > MAX_SHOWN_CHARS or not compact.isascii():
        return ""
    try:
        base64.b64decode(compact, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return compact


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4 - data[-2:].count('='):,} bytes"
