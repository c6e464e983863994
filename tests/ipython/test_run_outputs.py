"""The outputs of a run, made of the messages on IOPub as a notebook makes them."""

from typing import Any

import pytest
from copilot_kernel.ipython import run_outputs
from copilot_kernel.ipython.run_outputs import (
    HALF_CHARS,
    LEFT_OUT,
    MAX_RUN_CHARS,
    TOO_MUCH,
    Collector,
)
from hypothesis import given
from hypothesis import strategies as st

Content = dict[str, Any]


def stream(text: str, name: str = "stdout") -> tuple[str, Content]:
    return "stream", {"name": name, "text": text}


def display(text: str, display_id: str | None = None, kind: str = "display_data") -> tuple[str, Content]:
    transient = {"display_id": display_id} if display_id else {}
    return kind, {"data": {"text/plain": text}, "metadata": {}, "transient": transient}


def collected(*messages: tuple[str, Content]) -> list[Any]:
    collector = Collector()
    for kind, content in messages:
        collector.add({"header": {"msg_type": kind}, "content": content})
    return [each.get("text") or each.get("ename") or each["data"]["text/plain"] for each in collector.outputs]


def test_streams_are_joined_by_name() -> None:
    assert collected(stream("a"), stream("b"), stream("c", "stderr"), stream("d")) == ["ab", "c", "d"]


def test_an_update_changes_what_has_its_id() -> None:
    update = display("new", "1", "update_display_data")
    assert collected(display("old", "1"), display("other", "2"), update) == ["new", "other"]


def test_a_clear_that_waits_comes_with_the_next_output() -> None:
    waits, now = ("clear_output", {"wait": True}), ("clear_output", {"wait": False})
    assert collected(stream("a"), waits) == ["a"]
    assert collected(stream("a"), waits, stream("b")) == ["b"]
    assert collected(display("a", "1"), now, display("b"), display("c", "1", "update_display_data")) == ["b"]


ERROR = ("error", {"ename": "ValueError", "evalue": "", "traceback": []})


@pytest.mark.parametrize("pieces", [1, 2, 1_000])
def test_a_long_text_keeps_its_beginning_and_end_and_what_comes_after_it(pieces: int) -> None:
    text = "".join(f"line {number}\n" for number in range(2_000_000))
    size = len(text) // pieces + 1
    messages = [stream(text[at : at + size]) for at in range(0, len(text), size)]
    half = HALF_CHARS
    kept = f"{text[:half]}{LEFT_OUT.format(len(text) - 2 * half)}{text[-half:]}"
    assert collected(*messages, display("after"), ERROR) == [kept, "after", "ValueError"]


def test_a_long_value_keeps_its_beginning_and_end() -> None:
    half = HALF_CHARS
    shown = collected(display("a" * 9_000_000 + "b"), stream("after"))
    assert shown == [f"{'a' * half}{LEFT_OUT.format(9_000_001 - 2 * half)}{'a' * (half - 1)}b", "after"]


def test_outputs_that_are_too_many_are_not_kept_but_errors_are() -> None:
    values = [display("x" * HALF_CHARS) for _ in range(20)]
    texts = collected(*values, stream("y"), display("z" * HALF_CHARS), stream("y"), ERROR)
    assert texts == [*["x" * HALF_CHARS] * 16, TOO_MUCH, "ValueError"]


def test_a_large_image_is_left_out_alone() -> None:
    image = ("display_data", {"data": {"text/plain": "x", "image/png": "A" * (MAX_RUN_CHARS + 1)}, "metadata": {}})
    collector = Collector()
    for kind, content in (image, stream("after")):
        collector.add({"header": {"msg_type": kind}, "content": content})
    assert [each.get("data") or each["text"] for each in collector.outputs] == [
        {"text/plain": "x", "image/png": ""},
        "after",
    ]


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1), st.integers(1, 4))
def test_no_piece_of_a_short_text_is_lost_and_of_a_long_one_it_is_counted(pieces: list[str], half: int) -> None:
    whole = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_outputs, "HALF_CHARS", half)
        texts = collected(*map(stream, pieces))
    left_out = len(whole) - 2 * half
    assert texts == [whole if left_out <= 0 else f"{whole[:half]}{LEFT_OUT.format(left_out)}{whole[-half:]}"]
