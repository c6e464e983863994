"""What agents and tools send besides text: shown, or offered for saving, never fetched."""

from __future__ import annotations

import base64

import pytest
from copilot_kernel.acp.messages import Audio, Image, Resource, ResourceLink, UnknownBlock
from copilot_kernel.rendering.entry import render
from copilot_kernel.rendering.tool_call import render_tool_call

from .allowed import problems, text_of
from .samples import PIXEL, call, sent

SVG = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
SVG_DATA = base64.b64encode(SVG.encode()).decode()
SAVE = '<a href="data:application/octet-stream;base64,aGk=" download="{0}">save {0}</a>'


def html(block: object) -> str:
    shown = str(render(sent(block)).get("text/html", ""))
    assert problems(shown) == []
    return shown


def test_a_resource_that_is_an_image_is_shown_as_one():
    assert render(sent(Resource("x:/a.png", None, PIXEL, "image/png"))) == {
        "image/png": PIXEL,
        "text/plain": "[x:/a.png, image/png, 70 bytes]",
    }


@pytest.mark.parametrize("resource", [
    Resource("x:/a.svg", SVG, None, "image/svg+xml"), Resource("x:/a.svg", None, SVG_DATA, "image/svg+xml"),
])  # fmt: skip
def test_a_drawing_is_an_image_and_nothing_else(resource):
    assert html(resource) == f'<img src="data:image/svg+xml;base64,{SVG_DATA}" alt="image/svg+xml">'


def test_a_resource_that_is_a_sound_can_be_played():
    assert html(Resource("x:/a.wav", None, "aGk=", "audio/wav")) == (
        '<audio controls="controls" src="data:audio/wav;base64,aGk="></audio>'
    )


@pytest.mark.parametrize(("block", "name"), [
    (Resource("file:///tmp/a%20b.pdf", None, "aGk=", "application/pdf"), "a_b.pdf"),
    (Resource("x:/page.html?q=1", None, "aGk=", "text/html"), "page.html"),
    (Resource("https://h/..%2f..%2f.bashrc", None, "aGk=", ""), "bashrc"),
    (Resource('x:/"><script>', None, "aGk=", ""), "script_"),
    (Resource("", None, "aGk=", "application/pdf"), "attachment.pdf"),
    (Resource("https://[", None, "aGk=", "no such type"), "attachment"),
    (Image("aGk=", "image/tiff"), "attachment.tiff"),
    (Audio("aGk=", "audio/x-strange"), "attachment"),
])  # fmt: skip
def test_what_cannot_be_shown_is_offered_for_saving(block, name):
    assert SAVE.format(name) in html(block)


@pytest.mark.parametrize("data", ["", "no base64!", "a", "A" * 8_000_000])
def test_what_is_no_data_or_too_much_of_it_is_only_named(data):
    shown = html(Resource("x:/a.bin", None, data, "application/x"))
    assert ("download" in shown, "bytes" in text_of(shown)) == (False, True)


def test_an_image_that_is_elsewhere_is_a_link():
    image = Image("", "image/png", "https://x.example/a.png")
    assert 'href="https://x.example/a.png"' in html(image)
    assert "<img" not in html(image)
    assert render(sent(image))["text/plain"] == "[image/png] https://x.example/a.png"


# -- from tools -----------------------------------------------------------------------------------------------------

PARTS = [
    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "https://x.example/a", "name": "a"},
    {"type": "resource", "resource": {"uri": "x:/b.bin", "blob": "aGk="}},
]
WORDS = ["[image/png, 70 bytes]", "[audio/wav, 2 bytes]", "[a] https://x.example/a", "[x:/b.bin, data, 2 bytes]"]


@pytest.mark.parametrize("raw_output", [{"contents": PARTS}, {"content": PARTS}, {"content": PARTS, "isError": False}])
def test_what_a_tool_sends_only_in_its_raw_output_is_shown_and_not_as_json(raw_output):
    shown = render_tool_call(call(title="Draw", status="completed", raw_output=raw_output))
    assert shown["text/plain"].splitlines() == ["✓ Draw · done", *(f"  {words}" for words in WORDS)]
    assert problems(shown["text/html"]) == []
    assert [
        mark for mark in ("<img", "<audio", "x.example/a", 'download="b.bin"') if mark not in shown["text/html"]
    ] == []


def test_text_beside_an_image_is_output():
    raw_output = {"content": [{"type": "text", "text": "Here it is."}, PARTS[0]]}
    shown = render_tool_call(call(title="Draw", status="completed", raw_output=raw_output))
    assert shown["text/plain"] == "✓ Draw · done\n  [image/png, 70 bytes]\n  Here it is."


def test_what_stands_in_the_content_too_is_shown_once():
    image = Image(PIXEL, "image/png")
    shown = render_tool_call(call(status="completed", content=(image,), raw_output={"contents": PARTS[:1]}))
    assert shown["text/html"].count("<img") == 1


def test_what_nobody_knows_stays_json():
    shown = render_tool_call(call(status="completed", raw_output={"content": [{"type": "hologram"}]}))
    assert "hologram" in shown["text/plain"]


def test_a_tools_own_blocks_of_all_kinds_are_shown():
    blocks = (Image(PIXEL, "image/png"), Audio("aGk=", "audio/wav"), ResourceLink("https://x.example", "x"))
    others = (Resource("x:/t", "text"), UnknownBlock({"type": "hologram"}))
    shown = render_tool_call(call(status="completed", content=(*blocks, *others)))
    assert problems(shown["text/html"]) == []
    marks = ("<img", "<audio", "https://x.example", "text", "hologram")
    assert [mark for mark in marks if mark not in shown["text/html"]] == []
