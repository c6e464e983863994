"""Content other than text: images, sounds, links, resources and unknown blocks. Nothing is ever fetched."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from urllib.parse import unquote, urlsplit

from ..acp.messages import AudioBlock, Block, EmbeddedResource, ImageBlock, ResourceLink, TextBlock, UnknownBlock
from ..conversation.model import Attachment
from .markdown import to_html
from .markup import GREY, UNDERLINED, Bundle, bundle, card, escape, exposed, fold, muted, named, pre, row
from .output import shortened
from .plain import clean, one_line, prose, unbroken, visible_line, visible_text
from .raw import as_json

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
    block = _as_media(entry.block)
    if isinstance(block, ImageBlock) and block.mime_type in _PICTURES and (data := _valid(block.data)):
        return {block.mime_type: data, "text/plain": attachment_text(entry.block)}
    return bundle(attachment_html(block), attachment_text(entry.block))


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


def attachment_html(block: Block) -> str:
    """Any block as HTML."""
    match _as_media(block):
        case TextBlock(text=text):
            return to_html(text)
        case ImageBlock(data="", uri=uri, mime_type=mime_type) if uri:
            return card(row("▨", _link_html(ResourceLink(uri, "image")), muted(mime_type)))
        case ImageBlock() | AudioBlock() as media:
            return _media_html(media)
        case ResourceLink() as link:
            return card(row("⇗", _link_html(link), muted(_remarks(link))))
        case EmbeddedResource() as resource:
            return _resource_html(resource)
        case UnknownBlock(raw=raw):
            return card(fold(muted("unsupported content"), pre(exposed(shortened(as_json(raw))))))


def attachment_text(block: Block) -> str:
    """Any block for a terminal."""
    match block:
        case TextBlock(text=text):
            return prose(text)
        case ImageBlock(mime_type=mime_type, data="", uri=uri) if uri:
            return f"[{one_line(mime_type) or 'image'}] {visible_line(uri)}"
        case ImageBlock(mime_type=mime_type, data=data) | AudioBlock(mime_type=mime_type, data=data):
            return f"[{one_line(mime_type) or 'data'}, {_size(data)}]"
        case ResourceLink():
            return f"[{visible_text(_name(block))}] {visible_line(block.uri)} {_remarks(block)}".rstrip()
        case EmbeddedResource(uri=uri, text=None, blob=blob, mime_type=mime_type):
            return f"[{visible_line(uri)}, {one_line(mime_type) or 'data'}, {_size(blob or '')}]"
        case EmbeddedResource(text=str(text)) if name := context_name(block):
            return f"{SENT_ALONG}: {visible_line(name)} ({len(text):,} characters)"
        case EmbeddedResource(uri=uri, text=text):
            return f"[{visible_line(uri)}]\n{visible_text(shortened(text or ''))}".rstrip()
        case UnknownBlock(raw=raw):
            return f"[unsupported content]\n{visible_text(shortened(as_json(raw)))}"


def _media_html(media: ImageBlock | AudioBlock) -> str:
    """The image or sound itself from its data; SVG too, since an `img` runs no script."""
    is_image, mime_type = isinstance(media, ImageBlock), media.mime_type
    data = _valid(media.data) if mime_type in (IMAGES if is_image else SOUNDS) else ""
    if not data:
        mark, verb = ("▨", "shown") if is_image else ("♪", "played")
        saving = _save_html(media.data, getattr(media, "uri", ""), mime_type)
        return card(row(mark, muted(f"{attachment_text(media)} cannot be {verb}"), saving))
    source = f"data:{mime_type};base64,{data}"
    return (
        f'<img src="{source}" alt="{escape(mime_type)}">'
        if is_image
        else f'<audio controls="controls" src="{source}"></audio>'
    )


def _resource_html(resource: EmbeddedResource) -> str:
    name = f"▤ {named(resource.uri, 'font-weight:bold')} {muted(resource.mime_type)}"
    if context := context_name(resource):
        name = named(f"{SENT_ALONG}: {context}", _GREY)
    if resource.text is None:
        saving = _save_html(resource.blob or "", resource.uri, resource.mime_type)
        return card(row(name, muted(_size(resource.blob or "")), saving))
    return card(fold(name, pre(exposed(shortened(resource.text)))))


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
