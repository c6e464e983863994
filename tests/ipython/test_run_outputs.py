"""The outputs of a run, made of the messages on IOPub as a notebook makes them."""

from typing import Any

from copilot_kernel.ipython.run_outputs import MAX_RUN_CHARS, TOO_MUCH, Collector

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


def test_what_is_too_much_is_not_kept_but_errors_are() -> None:
    error = ("error", {"ename": "ValueError", "evalue": "", "traceback": []})
    texts = collected(stream("x" * MAX_RUN_CHARS), stream("y"), display("z"), stream("y"), error)
    assert texts[1:] == [TOO_MUCH, "ValueError"]
