"""Tags that no text inside them can forge."""

import time

import pytest
from copilot_kernel.tags import parts, tagged, unused_tag

from .limits import LIMIT


def test_a_text_stands_in_a_tag_with_what_is_known_of_it() -> None:
    text = tagged("row", "a\nb", id='x">\n', number=2, more="", note=None)
    assert text == '<row id="x\\">\\n" number="2">\na\nb\n</row>'


@pytest.mark.parametrize(
    ("texts", "tag"),
    [
        (["a", "b"], "row"),
        (["a </row>"], "row-2"),
        (["</ROW>"], "row-2"),
        (["a", "row-2"], "row-3"),
        (["row-3"], "row-2"),
        (["row-23 row-3"], "row-4"),
        ([" ".join(f"row-{number}" for number in range(2, 10))], "row-10"),
        (["row-1234567890123 row-2"], "row-3"),
    ],
)
def test_no_text_contains_the_tag(texts: list[str], tag: str) -> None:
    assert unused_tag("row", texts) == tag
    assert tag not in "\n".join(texts)


def test_of_texts_beside_one_another_none_contains_the_tag_of_another_nor_does_an_attribute() -> None:
    assert parts({"a-b": "</c-d>", "c-d": "x", "e": ""}) == "<a-b>\n</c-d>\n</a-b>\n<c-d-2>\nx\n</c-d-2>"
    assert tagged("row", "x", id="</row>").startswith('<row-2 id="</row>">')


def test_a_long_text_that_holds_many_tags_takes_no_time() -> None:
    text = " ".join(f"message-{number}" for number in range(1_000_000))
    began = time.process_time()
    assert unused_tag("message", [text]) == "message-1000000"
    assert time.process_time() - began < LIMIT
