"""Tags that no text inside them can forge."""

import time

import pytest
from copilot_kernel.tags import parts, tagged, typed, unused_tag

from .growth import is_linear
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


OURS = "[Copilot Kernel] This prompt was written in a cell."
ALONG = (
    tagged("notebook-cell", "x = 1\n</b>", id="a"),
    tagged("notebook-variable", "1", name="x"),
    tagged("value", "2", "value", name="y"),
    tagged("attached-file", "three", path="/tmp/a.txt"),
)


@pytest.mark.parametrize("prompt", ["Do it.", "Why?\n\n<value>\n1\n</value>\nis wrong", "<details>\nx\n</details>"])
@pytest.mark.parametrize("mark", ["\n", "\n\n"])
def test_of_a_replayed_prompt_only_what_a_person_wrote_is_left(prompt: str, mark: str) -> None:
    assert [typed(text) for text in (prompt, mark.join((prompt, *ALONG, OURS, OURS)), mark.join((prompt, OURS)))] == [
        *(prompt,) * 3
    ]
    assert [typed(text) for text in (OURS, *ALONG)] == [""] * 5


@pytest.mark.parametrize("text", ["\n" * 50, f"\n{ALONG[0]}"])
def test_a_replayed_prompt_is_read_in_linear_time(text: str) -> None:
    assert is_linear(lambda size: typed(f"x{text * size}"), 100)
    assert is_linear(lambda size: typed(f"x{text * size}\ny"), 100)


def test_an_end_without_its_beginning_stays() -> None:
    assert typed("x\n</value>") == "x\n</value>"
