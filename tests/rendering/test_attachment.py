"""What agents and tools send besides text: shown, or offered for saving, never fetched."""

import base64

import pytest
from copilot_kernel.acp.messages import AudioBlock, EmbeddedResource, ImageBlock, ResourceLink, UnknownBlock
from copilot_kernel.rendering.entry import render
from copilot_kernel.rendering.tool_call import render_tool_call

from .allowed import problems, text_of
from .samples import PIXEL, call, sent

SVG = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
SVG_DATA = base64.b64encode(SVG.encode()).decode()
SAVE = (
    '<a href="data:application/octet-stream;base64,aGk=" download="{0}" style="text-decoration:underline">save {0}</a>'
)


def html(block: object) -> str:
    shown = str(render(sent(block)).get("text/html", ""))
    assert problems(shown) == []
    return shown


@pytest.mark.parametrize("resource", [
    EmbeddedResource("x:/a.svg", SVG, None, "image/svg+xml"),
    EmbeddedResource("x:/a.svg", None, SVG_DATA, "image/svg+xml"),
])  # fmt: skip
def test_a_drawing_is_an_image_and_nothing_else(resource):
    assert html(resource) == f'<img src="data:image/svg+xml;base64,{SVG_DATA}" alt="image/svg+xml">'


@pytest.mark.parametrize(("block", "name"), [
    (EmbeddedResource("file:///tmp/a%20b.pdf", None, "aGk=", "application/pdf"), "a_b.pdf"),
    (EmbeddedResource("https://h/..%2f..%2f.bashrc", None, "aGk=", ""), "bashrc"),
    (EmbeddedResource('x:/"><script>', None, "aGk=", ""), "script_"),
    (EmbeddedResource("", None, "aGk=", "application/pdf"), "attachment.pdf"),
    (EmbeddedResource("https://[", None, "aGk=", "no such type"), "attachment"),
    (ImageBlock("aGk=", "image/tiff"), "attachment.tiff"),
])  # fmt: skip
def test_what_cannot_be_shown_is_offered_for_saving(block, name):
    assert SAVE.format(name) in html(block)


@pytest.mark.parametrize("data", ["", "no base64!", "a", "A" * 8_000_000])
def test_what_is_no_data_or_too_much_of_it_is_only_named(data):
    shown = html(EmbeddedResource("x:/a.bin", None, data, "application/x"))
    assert ("download" in shown, "bytes" in text_of(shown)) == (False, True)


def test_an_image_that_is_elsewhere_is_a_link():
    image = ImageBlock("", "image/png", "https://x.example/a.png")
    assert 'href="https://x.example/a.png"' in html(image)
    assert "<img" not in html(image)
    assert render(sent(image))["text/plain"] == "[image/png] https://x.example/a.png"


@pytest.mark.parametrize(("block", "shown"), [
    (ImageBlock("", "image/png"), "[image/png, 0 bytes]"),
    (AudioBlock(PIXEL, "audio/wav"), "[audio/wav, 70 bytes]"),
    (ResourceLink("https://x.example/a", "a", "A", "it", "text/html", 1234),
     "[A] https://x.example/a it · text/html · 1,234 bytes"),
    (EmbeddedResource("notebook:cell/551ba0b7?number=3", "one"), "Sent along: cell 3 (3 characters)"),
    (EmbeddedResource("notebook:cell/551ba0b7", "one"), "Sent along: a cell (3 characters)"),
    (EmbeddedResource("file:///a", "one\ntwo"), "[file:///a]\none\ntwo"),
    (EmbeddedResource("file:///a", None, PIXEL, "image/png"), "[file:///a, image/png, 70 bytes]"),
    (UnknownBlock({"type": "x"}), '[unsupported content]\n{\n  "type": "x"\n}'),
])  # fmt: skip
def test_an_attachment_in_words(block, shown):
    assert render(sent(block))["text/plain"] == shown


@pytest.mark.parametrize(("data", "mime_type"), [
    (PIXEL + "!", "image/png"), ("", "image/png"), ("a", "image/png"), ("é" * 4, "image/png"), (PIXEL, "text/html"),
    (PIXEL, "image/png\" x=\""),
])  # fmt: skip
def test_an_image_that_is_none_is_only_named(data, mime_type):
    bundle = render(sent(ImageBlock(data, mime_type)))
    assert set(bundle) == {"text/html", "text/plain"}
    assert "cannot be shown" in bundle["text/html"]


@pytest.mark.parametrize(("uri", "is_link"), [
    ("https://x.example", True), ("http://x.example", True), ("javascript:x", False), ("file:///x", False),
    ("/lab", False), ("https://x.example y", False), ("https://x.example\n", False),
])  # fmt: skip
def test_only_web_addresses_are_links(uri, is_link):
    assert ("<a href" in render(sent(ResourceLink(uri)))["text/html"]) is is_link


PARTS = [
    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "https://x.example/a", "name": "a"},
    {"type": "resource", "resource": {"uri": "x:/b.bin", "blob": "aGk="}},
]
WORDS = ["[image/png, 70 bytes]", "[audio/wav, 2 bytes]", "[a] https://x.example/a", "[x:/b.bin, data, 2 bytes]"]


@pytest.mark.parametrize("raw_output", [{"contents": PARTS}, {"content": PARTS, "isError": False}])
def test_what_a_tool_sends_only_in_its_raw_output_is_shown_and_not_as_json(raw_output):
    shown = render_tool_call(call(title="Draw", status="completed", raw_output=raw_output))
    assert shown["text/plain"].splitlines() == ["✓ Draw", *(f"  {words}" for words in WORDS)]
    assert problems(shown["text/html"]) == []
    assert [
        mark for mark in ("<img", "<audio", "x.example/a", 'download="b.bin"') if mark not in shown["text/html"]
    ] == []
