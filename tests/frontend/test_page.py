"""Entries in, sends out: which output shows what, and when it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from copilot_kernel.acp.messages import ImageBlock
from copilot_kernel.conversation.model import Attachment, Message
from copilot_kernel.conversation.text import GrowingText
from copilot_kernel.frontend.output_area import (
    BLANK,
    HAND_OVER_SECONDS,
    MAX_PER_SECOND,
    SECONDS_PER_CHARACTER,
    STATUS_DELAY,
)
from copilot_kernel.frontend.slot_items import UNDRAWN
from copilot_kernel.frontend.slots import MAX_SLOTS, OpenQuestion
from copilot_kernel.rendering.blocks import Blocks
from copilot_kernel.rendering.entry import render, render_group

from .recording import call, notice, said, spoken
from .sheet import LONG_AGO, group, page, passing, shown, text


def picture(entry_id: int) -> Attachment:
    return Attachment(entry_id, 1, "agent", ImageBlock("iVBORw0KGgo=", "image/png"))


# -- what shares an output ----------------------------------------------------------------------------------------


LINES = [f"{number}. **words** of `code` and a little more\n\n" for number in range(15_000)]


def growing(lines: list[str], at_once: int = 25) -> Iterator[Message]:
    """A message, again and again."""
    message = said(1)
    for start in range(0, len(lines), at_once):
        message = Message(1, 1, "agent", message.text.append("".join(lines[start : start + at_once])))
        yield message


def size(bundle: dict[str, Any]) -> int:
    return sum(len(str(value).encode()) for value in bundle.values())


def test_tool_calls_thoughts_and_notices_in_a_row_share_one_output() -> None:
    entries = [call(1), spoken(2, "thought", "Hm."), notice(3, "Low on disk"), call(4)]
    assert shown(*entries).outputs == [group(*entries)]


def test_a_message_stands_between_what_came_before_it_and_what_came_after() -> None:
    assert shown(call(1), said(2, "So."), call(3)).outputs == [group(call(1)), text("So."), group(call(3))]


def test_a_message_that_goes_on_after_a_tool_call_goes_on_in_its_own_output() -> None:
    cell = shown(said(1, "One"), call(2), said(1, "One", " more"))
    assert cell.outputs == [text("One more"), group(call(2))]


def test_finished_pieces_of_a_long_message_are_never_sent_again() -> None:
    sheet, cell, loop = page()
    paragraphs = [f"Paragraph {number} " + "word " * 300 + "\n\n" for number in range(60)]
    whole, message = "".join(paragraphs), said(1)
    for paragraph in paragraphs:
        message = Message(1, 1, "agent", message.text.append(paragraph))
        sheet.put(message)
        loop.pass_time(1.0)
    sheet.settle()
    cutter = Blocks()
    pieces = [text(piece) for piece in (*cutter.feed(whole), cutter.tail)]
    last_sent = {data["text/html"]: number for number, (_, data) in enumerate(cell.sent)}
    order = [last_sent[piece["text/html"]] for piece in pieces]
    assert (cell.outputs, order) == (pieces, sorted(order))
    assert len(pieces) > 4


# -- the limit ------------------------------------------------------------------------------------------------------


def test_two_hundred_tool_calls_between_messages_stay_under_the_limit_and_nothing_is_lost() -> None:
    entries = [call(n, title=f"step{n}") if n % 2 else said(n, f"word{n}") for n in range(1, 401)]
    cell = shown(*entries)
    everything = "\n".join(cell.plain).split()
    assert len(cell.outputs) == MAX_SLOTS
    assert all(everything.count(word) == 1 for n in range(1, 401) for word in [f"step{n}" if n % 2 else f"word{n}"])


def test_images_after_the_limit_share_the_last_output() -> None:
    cell = shown(*(picture(number) for number in range(MAX_SLOTS + 5)))
    assert cell.outputs == [render(picture(0))] * (MAX_SLOTS - 1) + [render_group([picture(0)] * 6)]
    assert cell.outputs[-1]["text/html"].count("<img ") == 6


# -- when it is sent ------------------------------------------------------------------------------------------------


def test_the_first_change_goes_out_at_once_and_the_next_ones_together() -> None:
    sheet, cell, loop = page()
    sheet.put(said(1, "a"))
    loop.pass_time()
    assert cell.plain == ["a"]
    for end in range(2, 9):
        sheet.put(said(1, *"abcdefgh"[:end]))
        loop.pass_time(0.001)
    assert cell.plain == ["a"]
    loop.pass_time(1 / MAX_PER_SECOND)
    assert (cell.kinds, cell.plain) == (["display", "update"], ["abcdefgh"])


def test_after_the_first_display_there_is_a_moment_to_send_it(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = list[float]()
    monkeypatch.setattr("copilot_kernel.frontend.output_area.time", SimpleNamespace(sleep=naps.append))
    sheet, cell, loop = page()
    for number in (1, 2, 3):
        sheet.put(said(number, "a"))
        loop.pass_time(1.0)
        assert (len(cell.sent), naps) == (number, [HAND_OVER_SECONDS])


def test_what_comes_in_one_piece_from_the_agent_goes_out_in_one() -> None:
    sheet, cell, loop = page()
    sheet.put(said(1, "a"))
    sheet.put(said(1, "a", "b"))
    sheet.put(call(2, "pending"))
    sheet.put(call(2, "in_progress"))
    loop.pass_time()
    assert cell.sent == [("display", text("ab")), ("display", group(call(2, "in_progress")))]


def test_an_entry_that_looks_as_it_did_is_not_sent_again() -> None:
    sheet, cell, loop = page()
    for _ in range(5):
        sheet.put(call(1))
        loop.pass_time(LONG_AGO)
    assert cell.kinds == ["display"]


def test_a_large_output_rests_longer_and_does_not_hold_up_a_small_one() -> None:
    sheet, cell, loop = page()
    size = 200_000
    sheet.put(said(1, "x " * (size // 2)))
    loop.pass_time()
    rest = SECONDS_PER_CHARACTER * size
    cell.sent.clear()
    sheet.put(said(1, "x " * (size // 2), "more"))
    sheet.put(call(2))
    loop.pass_time(rest / 2)
    assert cell.sent == [("display", group(call(2)))]
    loop.pass_time(LONG_AGO)
    assert cell.kinds == ["display", "update"]


def test_a_long_answer_at_speed_costs_a_few_bytes_each_and_comes_whole() -> None:
    sheet, cell, loop = page()
    sample = "Some **words** of an answer, `code` too, and a little more of it.\n- an item\n- another one\n\n" * 800
    source, parts = sample[:60_000], GrowingText()
    for start in range(0, len(source), 100):
        parts = parts.append(source[start : start + 100])
        sheet.put(Message(1, 1, "agent", parts))
        loop.pass_time(0.001)
    sheet.settle()
    sent = sum(size(data) for _, data in cell.sent)
    assert "".join("".join(cell.plain).split()) == "".join(source.split())
    assert sent / len(source) < 7.5
    assert len(cell.sent) <= 3 * MAX_PER_SECOND + len(cell.outputs)


def test_pieces_that_were_finished_count_too() -> None:
    sheet, cell, loop = page()
    for message in growing(LINES):
        sheet.put(message)
        loop.pass_time(0.01)
    sheet.settle()
    sent, kept = (sum(map(size, bundles)) for bundles in ((data for _, data in cell.sent), cell.outputs))
    assert (sent / kept < 1.25, len(cell.outputs) > 10) == (True, True)


def test_a_status_does_not_change_the_order_of_pieces() -> None:
    sheet, cell, loop = page()
    sheet.put(call(0))
    for number, message in enumerate(growing(LINES)):
        sheet.put(message)
        if number % 30 == 0:
            sheet.status(f"Answering · {number}")
        loop.pass_time(0.01)
    sheet.status("")
    sheet.settle()
    assert "".join("".join(cell.plain[1:]).split()) == "".join("".join(LINES).split())


def test_what_comes_after_the_end_is_drawn_where_it_belongs() -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "in_progress"))
    sheet.settle()
    sheet.put(call(1, "completed"))
    sheet.put(notice(2, "Late"))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1), notice(2, "Late"))]


def test_an_output_that_cannot_be_drawn_says_so_and_the_others_are_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(entry: Any, cwd: str) -> Any:
        raise RuntimeError("no ink")

    monkeypatch.setattr("copilot_kernel.frontend.slot_items.render", fail)
    cell = shown(call(1), said(2, "So."))
    assert cell.plain == [UNDRAWN, "So."]
    assert [record.getMessage() for record in caplog.records] == ["an output could not be drawn"]


# -- a passing line -----------------------------------------------------------------------------------------------


def test_a_cell_that_is_over_asks_nothing_and_what_was_decided_may_come_later() -> None:
    sheet, cell, loop = page()
    gone: list[str] = []
    sheet.put(call(1))
    sheet.open_question(1, OpenQuestion({"text/plain": "May I?"}, lambda: gone.append("one")))
    second = sheet.open_question(1, OpenQuestion({"text/plain": "And this?"}, lambda: gone.append("two")))
    loop.pass_time(LONG_AGO)
    sheet.settle()
    assert (gone, cell.outputs[0]) == (["one", "two"], group(call(1)))
    assert all("this?" not in str(bundle) for bundle in cell.outputs)
    second(notice(-1, "It was cancelled."))
    loop.pass_time(LONG_AGO)
    assert "It was cancelled." in cell.outputs[1]["text/plain"]


def test_a_question_that_takes_the_place_of_another_at_once_withdraws_that_one() -> None:
    sheet, cell, loop = page()
    gone: list[str] = []
    sheet.put(call(1))
    close = sheet.open_question(1, OpenQuestion({"text/plain": "May I?"}, lambda: gone.append("one")))
    loop.pass_time(LONG_AGO)
    close(notice(-1, "withdrawn"))
    sheet.open_question(1, OpenQuestion({"text/plain": "May I do this?"}, lambda: gone.append("two")))
    assert gone == ["one"]
    loop.pass_time(LONG_AGO)
    assert (gone, cell.outputs) == (["one"], [{"text/plain": "May I do this?"}])


def test_the_status_stands_on_top_of_what_comes_later_and_goes_at_the_end() -> None:
    sheet, cell, loop = page()
    sheet.status("Starting")
    loop.pass_time(STATUS_DELAY)
    assert (STATUS_DELAY <= 0.5, cell.outputs) == (True, [passing("Starting")])
    sheet.put(call(1))
    sheet.status("Waiting · 5 s")
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [passing("Waiting · 5 s"), group(call(1))]
    sheet.status("")
    sheet.settle()
    sheet.add({"text/plain": "the end"}, {})
    assert cell.outputs == [BLANK, group(call(1)), {"text/plain": "the end"}]


def test_without_an_answer_the_end_takes_the_place_of_the_status() -> None:
    sheet, cell, loop = page()
    sheet.status("Waiting")
    loop.pass_time(LONG_AGO)
    sheet.status("")
    sheet.settle()
    sheet.add({"text/plain": "the end"}, {})
    assert cell.outputs == [{"text/plain": "the end"}]


def test_a_status_after_an_early_answer_stands_below_until_something_new_takes_its_place() -> None:
    sheet, cell, loop = page()
    sheet.status("Starting")
    sheet.put(call(1))
    for words in ("Waiting", "Waiting · 5 s"):
        sheet.status(words)
        loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1)), passing("Waiting · 5 s")]
    sheet.put(said(2, "So."))
    sheet.settle()
    assert cell.outputs == [group(call(1)), text("So.")]


def test_below_a_question_no_status_says_that_it_waits() -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    for words in ("Starting", "? Waiting for you · 1 question below"):
        sheet.status(words)
        loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1, "waiting")), BLANK]


def test_below_an_open_question_no_status_says_what_was_so_before() -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    sheet.open_question(1, OpenQuestion({"text/plain": "May it?"}))
    sheet.status("Waiting for the model")
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [{"text/plain": "May it?"}]


def test_a_turn_that_answers_at_once_shows_no_status() -> None:
    sheet, cell, loop = page()
    sheet.status("Starting")
    sheet.put(call(1))
    sheet.status("")
    sheet.settle()
    loop.pass_time(LONG_AGO)
    sheet.add({"text/plain": "the end"}, {})
    assert cell.outputs == [group(call(1)), {"text/plain": "the end"}]


# -- large ones -----------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_message_without_end_is_cut_where_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilot_kernel.frontend.slot_items.MAX_CHARS", 100)
    whole = shown(said(1, "word " * 50))
    sheet, cell, _ = page()
    for end in range(1, 51):
        sheet.put(said(1, *["word "] * end))
        await sheet.drawn()
    sheet.settle()
    assert whole.plain == cell.plain == ["word " * 20 + "\n\n… 150 characters not shown …"]


@pytest.mark.anyio
async def test_a_long_turn_looks_the_same_drawn_in_steps_or_at_once() -> None:
    entries = [said(1, "A *paragraph*.\n\n" * 9_000), call(2), said(3, "```\n" + "line\n" * 9_000), call(4, "failed")]
    sheet, cell, loop = page()
    loop.time = count(0.0, 0.02).__next__  # type: ignore[method-assign]
    for entry in entries:
        sheet.put(entry)
    steps = sum(1 for _ in sheet.drawn().__await__())
    sheet.settle()
    assert steps > 20
    assert cell.outputs == shown(*entries).outputs


def test_only_what_changed_is_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[int] = []

    def counting(entry: Any, cwd: str) -> Any:
        rendered.append(entry.id)
        return render(entry, cwd)

    monkeypatch.setattr("copilot_kernel.frontend.slot_items.render", counting)
    sheet, _, loop = page()
    for number in range(1, 6):
        for status in ("in_progress", "completed"):
            sheet.put(call(number, status))
            loop.pass_time(LONG_AGO)
    assert rendered == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
