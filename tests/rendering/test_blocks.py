"""Cutting a growing text."""

import math
import re

import pytest
from copilot_kernel.conversation.text import GrowingText
from copilot_kernel.rendering import blocks
from copilot_kernel.rendering.blocks import Blocks, Piece, Stream, piece_size
from copilot_kernel.rendering.markdown import to_html
from copilot_kernel.rendering.markup import DEFERRED
from hypothesis import given, settings
from hypothesis import strategies as st

from ..growth import is_linear
from ..limits import examples
from .allowed import problems


def ten(number: int) -> int:
    return 10


def cut(text: str, *chunk_sizes: int) -> tuple[list[str], str]:
    """The pieces and the tail of `text`, fed in chunks of these sizes and then as a whole."""
    cutter, pieces, start = Blocks(ten), [], 0
    for size in chunk_sizes:
        pieces += cutter.feed(text[start : start + size])
        start += size
    return [*pieces, *cutter.feed(text[start:])], cutter.tail


MARKDOWN = st.lists(
    st.sampled_from(
        ["word ", "\n", "\n\n", "```\n", "```py\n", "~~~~\n", "  - item\n", "> ```\n", "long" * 9, "\r\n", " ", "é"]
    )
).map("".join)


@settings(max_examples=examples(300))
@given(MARKDOWN, st.lists(st.integers(0, 30), max_size=40))
def test_the_cuts_depend_on_the_text_and_not_on_its_chunks(text, chunk_sizes):
    assert cut(text, *chunk_sizes) == cut(text)


BARE = st.lists(st.sampled_from(["word ", "\n", "\n\n", "```\n", "~~~~\n", "> ```\n", "long" * 9, "é"])).map("".join)


@settings(max_examples=examples(300))
@given(BARE)
def test_nothing_is_lost_and_only_fences_are_added(text):
    pieces, tail = cut(text)
    letters = re.compile(r"[^\s`~>]")
    assert letters.findall("".join((*pieces, tail))) == letters.findall(text)


@settings(max_examples=examples(300))
@given(MARKDOWN)
def test_no_piece_is_longer_than_its_limit(text):
    pieces, tail = cut(text)
    fence = len("  - ```py\n") * 2
    assert [part for part in (*pieces, tail) if len(part) > 8 * 10 + fence] == []


@pytest.mark.parametrize(("text", "pieces", "tail"), [
    ("0123456789\n\nnext", ["0123456789\n\n"], "next"),
    ("0123456789\n\n", [], "0123456789\n\n"),
    ("0123456789\n\n  goes on\n\nnext", ["0123456789\n\n  goes on\n\n"], "next"),
    ("0123456789\nsame paragraph\n", [], "0123456789\nsame paragraph\n"),
    ("```\n0123456789\n\nx\n```\n\nnext", ["```\n0123456789\n\nx\n```\n\n"], "next"),
    ("> ```\n> 0123456789\n\nnext\n\nmore", ["> ```\n> 0123456789\n\n"], "next\n\nmore"),
    ("```a`b\n0123456789\n\nnext", ["```a`b\n0123456789\n\n"], "next"),
])  # fmt: skip
def test_a_piece_ends_before_a_paragraph(text, pieces, tail):
    assert cut(text) == (pieces, tail)


def test_a_long_fence_is_closed_and_opened_again():
    lines = "".join(f"line {n}\n" for n in range(8))
    assert cut(f"```py\n{lines}```\nend") == (
        ["```py\nline 0\nline 1\nline 2\nline 3\nline 4\n```\n"],
        "```py\nline 5\nline 6\nline 7\n```\nend",
    )


def test_short_pieces_may_hold_long_paragraphs():
    blocks = Blocks(lambda number: 1, 40)
    assert blocks.feed("one\ntwo\nthree\n\nfour\n" + "five " * 8) == ["one\ntwo\nthree\n\n"]
    assert blocks.feed("\nsix") == ["four\n" + "five " * 8 + "\n"]


def test_a_line_without_an_end_is_cut_at_a_space():
    assert cut("word " * 20) == (["word " * 16], "word " * 4)
    assert cut("x" * 100) == (["x" * 80], "x" * 20)


def test_pieces_grow_so_that_a_long_text_has_few():
    sizes = [piece_size(number) // 1024 for number in (0, 3, 4, 8, 9, 1000)]
    assert sizes == [8, 8, 16, 16, 47, 47]


def test_a_finished_piece_is_rendered_as_a_whole_and_the_rest_as_it_grows():
    stream = Stream()
    first, rest = "- a\n\n- b\n\n" + "word " * 4000 + "\n\n", "# next\n\ntext *goes"
    text = GrowingText(first + rest)
    assert [piece.source for piece in stream.feed(text)] == [first]
    assert stream.last.source == rest
    assert stream.html() == to_html(rest)
    assert stream.feed(text.append(" on*")) == []
    assert stream.html() == to_html(rest + " on*")


BLOCKS = st.lists(
    st.sampled_from(
        [
            "A **paragraph** of " + "words " * 60 + "\n\n",
            "## Heading\n\n",
            "- loose\n\n" * 40,
            "1. one\n2. two\n\n" * 60,
            "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 300 + "\n",
            "```python\n" + "x = 1\n\n" * 300 + "```\n\n",
            "> quoted\n\n",
            "see [there]\n\n",
            "[there]: https://example.org\n\n",
            "    indented code\n\n",
        ]
    ),
    max_size=6,
).map("".join)


@settings(max_examples=examples(15), deadline=None)
@given(BLOCKS, st.integers(1000, 5000))
def test_a_finished_piece_looks_as_if_rendered_as_a_whole_whatever_was_drawn_before(text, size):
    stream, grown = Stream(), GrowingText()
    for start in range(0, len(text), size):
        grown = grown.append(text[start : start + size])
        stream.feed(grown)
        stream.html()
    known = stream.last
    source, alone = known.source, Piece(known.source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_LONG_HTML", math.inf)  # nothing that a browser can leave out
        assert known.html() == alone.html() == to_html(source)


def test_a_long_piece_is_in_blocks_that_a_browser_can_leave_out():
    lines = [f"Line *{line}* of a long text.\n\n" for line in range(8_000)]
    html = Piece("".join(lines)).html()
    blocks = html.split(f'<div class="{DEFERRED}">')[1:]
    assert len(blocks) > 10
    assert max(map(len, blocks)) < 64 * 1024
    assert html.replace(f'<div class="{DEFERRED}">', "").replace("</div>", "") == to_html("".join(lines))
    stream = Stream()
    assert stream.feed(GrowingText("".join(lines[:100]))) == []
    assert DEFERRED not in stream.html()


@settings(max_examples=examples(100), deadline=None)
@given(MARKDOWN, st.lists(st.integers(1, 30), max_size=20))
def test_a_growing_text_is_safe_at_every_moment(text, chunk_sizes):
    stream, grown = Stream(), GrowingText()
    for size in [*chunk_sizes, len(text)]:
        grown = grown.append(text[len(grown) : len(grown) + size])
        stream.feed(grown)
        assert problems(stream.html()) == []


def test_an_open_fence_is_drawn_bit_by_bit():
    """Else every redraw would colour the whole fence again."""
    stream = Stream()
    stream.feed(GrowingText("```python\n" + "value = 1\n" * 1300))
    assert stream.last.source.count("\n") == 1301
    assert stream.html().count("<pre") == 2


def test_reading_is_linear():
    def read(count: int) -> None:
        blocks = Blocks()
        for _ in range(count):
            blocks.feed("ab cd\n\n")

    assert is_linear(read, 2_000)
