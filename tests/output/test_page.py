"""Entries in, sends out: which output shows what, and when it is sent."""

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from copilot_kernel.acp.messages import ImageBlock, TextBlock
from copilot_kernel.conversation.model import Attachment, Entry, Message
from copilot_kernel.output.output_area import (
    BLANK,
    STATUS_DELAY,
)
from copilot_kernel.output.slot_items import UNDRAWN
from copilot_kernel.output.slots import MAX_SLOTS, Slots
from copilot_kernel.rendering.blocks import Blocks
from copilot_kernel.rendering.entry import render, render_group
from copilot_kernel.views.pacer import MAX_PER_SECOND, SECONDS_PER_CHARACTER
from msgspec.structs import replace

from .recording import Bundle, call, notice, said, spoken
from .sheet import END, LONG_AGO, QUESTION, Sheet, group, passing, shown, text


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


CALLS_AND_MORE = (call(1), spoken(2, "thought", "Hm."), notice(3, "Low on disk"), call(4))


@pytest.mark.parametrize(("entries", "outputs"), [
    (CALLS_AND_MORE, [group(*CALLS_AND_MORE)]),
    ((call(1), said(2, "So."), call(3)), [group(call(1)), text("So."), group(call(3))]),
    ((said(1, "One"), call(2), said(1, "One", " more")), [text("One more"), group(call(2))]),
], ids=["in a row", "a message between", "a message that goes on"])  # fmt: skip
def test_tool_calls_thoughts_and_notices_in_a_row_share_one_output_and_a_message_has_its_own(
    entries: tuple[Entry, ...], outputs: list[Bundle]
) -> None:
    assert shown(*entries).outputs == outputs


def test_finished_pieces_of_a_long_message_are_never_sent_again() -> None:
    sheet = Sheet()
    paragraphs = [f"Paragraph {number} " + "word " * 300 + "\n\n" for number in range(60)]
    for message in growing(paragraphs, 1):
        sheet.put(message, then=1.0)
    sheet.area.settle()
    cutter = Blocks()
    pieces = [text(piece) for piece in (*cutter.feed("".join(paragraphs)), cutter.tail)]
    last_sent = {data["text/html"]: number for number, (_, data) in enumerate(sheet.cell.sent)}
    order = [last_sent[piece["text/html"]] for piece in pieces]
    assert (sheet.outputs, order) == (pieces, sorted(order))
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
    sheet = Sheet()
    sheet.put(said(1, "a"), then=0.0)
    assert sheet.cell.plain == ["a"]
    for end in range(2, 9):
        sheet.put(said(1, *"abcdefgh"[:end]), then=0.001)
    assert sheet.cell.plain == ["a"]
    sheet.loop.pass_time(1 / MAX_PER_SECOND)
    assert (sheet.cell.kinds, sheet.cell.plain) == (["display", "update"], ["abcdefgh"])


def test_what_comes_in_one_piece_from_the_agent_goes_out_in_one() -> None:
    sheet = Sheet()
    sheet.put(said(1, "a"), said(1, "a", "b"), call(2, "pending"), call(2, "in_progress"), then=0.0)
    assert sheet.cell.sent == [("display", text("ab")), ("display", group(call(2, "in_progress")))]


def test_an_entry_that_looks_as_it_did_is_not_sent_again() -> None:
    sheet = Sheet()
    for _ in range(5):
        sheet.put(call(1))
    assert sheet.cell.kinds == ["display"]


def test_a_large_output_rests_longer_and_does_not_hold_up_a_small_one() -> None:
    sheet, size = Sheet(), 200_000
    large = call(1, "completed", content=(TextBlock("x " * (size // 2)),))
    sheet.put(large, said(2, "So"), then=1 / MAX_PER_SECOND)
    sheet.cell.sent.clear()
    sheet.put(replace(large, status="failed"), said(2, "So", " be it."), then=SECONDS_PER_CHARACTER * size / 4)
    assert sheet.cell.sent == [("update", text("So be it."))]
    sheet.loop.pass_time(LONG_AGO)
    assert sheet.cell.kinds == ["update", "update"]


def test_the_end_of_a_message_does_not_wait_until_something_else_may_be_drawn() -> None:
    sheet, words = Sheet(), "word " * 5_000
    sheet.put(said(1, words), then=0.0)
    sheet.put(said(1, words, "more"), call(2), then=1 / MAX_PER_SECOND)
    assert sheet.outputs == [text(f"{words}more"), group(call(2))]


@pytest.mark.parametrize("last", ["text", "call"])
def test_the_last_display_of_a_full_cell_rests_whatever_changes_in_it(last: str) -> None:
    slots = Slots()
    for number in range(MAX_SLOTS):
        slots.put(said(2 * number, "Now."))
        slots.put(call(2 * number + 1))
    full = list(slots)[-1]
    slots.rested(full, LONG_AGO)
    slots.put(said(1_000, "Then.") if last == "text" else call(1_000))
    assert (full.dirty, [due for due, slot in slots.waiting if slot is full]) == (True, [LONG_AGO])


def test_a_status_does_not_change_the_order_of_pieces() -> None:
    sheet, lines = Sheet(), LINES[:3_000]
    sheet.put(call(0), then=0.0)
    for number, message in enumerate(growing(lines)):
        sheet.put(message, then=0.01)
        if number % 30 == 0:
            sheet.status(f"Answering · {number}", then=0.0)
    sheet.end()
    assert "".join("".join(sheet.cell.plain[1:-1]).split()) == "".join("".join(lines).split())


def test_what_comes_after_the_end_is_drawn_where_it_belongs() -> None:
    sheet = Sheet()
    sheet.area.put(call(1, "in_progress"))
    sheet.area.settle()
    sheet.put(call(1, "completed"), notice(2, "Late"))
    assert sheet.outputs == [group(call(1), notice(2, "Late"))]


def test_an_output_that_cannot_be_drawn_says_so_and_the_others_are_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(entry: Any, cwd: str) -> Any:
        raise RuntimeError("no ink")

    monkeypatch.setattr("copilot_kernel.output.slot_items.render", fail)
    cell = shown(call(1), said(2, "So."))
    assert cell.plain == [UNDRAWN, "So."]
    assert [record.getMessage() for record in caplog.records] == ["an output could not be drawn"]


# -- a passing line -----------------------------------------------------------------------------------------------


def test_a_cell_that_is_over_asks_nothing_and_what_was_decided_may_come_later() -> None:
    sheet = Sheet()
    sheet.put(call(1))
    sheet.ask(1)
    second = sheet.ask(1, {"text/plain": "And this?"})
    sheet.area.settle()
    assert ([*sheet.withdrawn], sheet.outputs[0]) == (["May it?", "And this?"], group(call(1)))
    assert all("?" not in bundle["text/plain"] for bundle in sheet.outputs)
    second(notice(-1, "It was cancelled."))
    sheet.loop.pass_time(LONG_AGO)
    assert "It was cancelled." in sheet.outputs[1]["text/plain"]


def test_a_question_that_takes_the_place_of_another_at_once_withdraws_that_one() -> None:
    sheet, other = Sheet(), {"text/plain": "May it do this?"}
    sheet.put(call(1))
    sheet.ask(1)(notice(-1, "withdrawn"))
    sheet.ask(1, other, then=0.0)
    assert [*sheet.withdrawn] == ["May it?"]
    sheet.loop.pass_time(LONG_AGO)
    assert ([*sheet.withdrawn], sheet.outputs) == (["May it?"], [other])


def test_the_status_stands_on_top_of_what_comes_later_and_goes_at_the_end() -> None:
    sheet = Sheet()
    sheet.status("Starting", then=STATUS_DELAY)
    assert (STATUS_DELAY <= 0.5, sheet.outputs) == (True, [passing("Starting")])
    sheet.area.put(call(1))
    sheet.status("Waiting · 5 s")
    assert sheet.outputs == [passing("Waiting · 5 s"), group(call(1))]
    sheet.end()
    assert sheet.outputs == [BLANK, group(call(1)), END]


def test_without_an_answer_the_end_takes_the_place_of_the_status() -> None:
    sheet = Sheet()
    sheet.status("Waiting")
    sheet.end()
    assert sheet.outputs == [END]


def test_a_status_after_an_early_answer_stands_below_until_something_new_takes_its_place() -> None:
    sheet = Sheet()
    sheet.area.status("Starting")
    sheet.area.put(call(1))
    for words in ("Waiting", "Waiting · 5 s"):
        sheet.status(words)
    assert sheet.outputs == [group(call(1)), passing("Waiting · 5 s")]
    sheet.area.put(said(2, "So."))
    sheet.area.settle()
    assert sheet.outputs == [group(call(1)), text("So.")]


def test_below_a_question_no_status_says_that_it_waits() -> None:
    sheet = Sheet()
    sheet.area.put(call(1, "waiting"))
    for words in ("Starting", "? Waiting for you · 1 question below"):
        sheet.status(words)
    assert sheet.outputs == [group(call(1, "waiting")), BLANK]


def test_below_an_open_question_no_status_says_what_was_so_before() -> None:
    sheet = Sheet()
    sheet.area.put(call(1, "waiting"))
    sheet.ask(1, then=0.0)
    sheet.status("Waiting for the model")
    assert sheet.outputs == [QUESTION]


def test_a_turn_that_answers_at_once_shows_no_status() -> None:
    sheet = Sheet()
    sheet.area.status("Starting")
    sheet.area.put(call(1))
    sheet.end()
    sheet.loop.pass_time(LONG_AGO)
    assert sheet.outputs == [group(call(1)), END]


# -- large ones -----------------------------------------------------------------------------------------------------


async def test_a_message_without_end_is_cut_where_it_says_so_and_shows_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilot_kernel.rendering.blocks.MAX_MESSAGE_CHARS", 100)
    monkeypatch.setattr("copilot_kernel.rendering.blocks.END_CHARS", 20)
    words = [*["word "] * 49, "\u202eend"]
    whole, sheet = shown(said(1, *words)), Sheet()
    for end in range(1, 50):
        sheet.area.put(said(1, *["word "] * end))
        await sheet.area.drawn()
    sheet.area.put(said(1, *words))
    sheet.area.settle()
    end = "… 129 characters not shown …\n\n word word word ⟨U+202E⟩end"
    assert whole.plain == sheet.cell.plain == ["word " * 20 + f"\n\n{end}"]
    assert end in whole.outputs[0]["text/html"]


async def test_a_long_turn_looks_the_same_drawn_in_steps_or_at_once() -> None:
    entries = [said(1, "A *paragraph*.\n\n" * 9_000), call(2), said(3, "```\n" + "line\n" * 9_000), call(4, "failed")]
    sheet = Sheet()
    sheet.loop.time = count(0.0, 0.02).__next__
    for entry in entries:
        sheet.area.put(entry)
    steps = sum(1 for _ in sheet.area.drawn().__await__())
    sheet.area.settle()
    assert steps > 20
    assert sheet.outputs == shown(*entries).outputs


async def test_what_changes_while_everything_is_drawn_waits_for_the_end() -> None:
    sheet = Sheet()
    sheet.area.put(call(1))
    drawing = asyncio.ensure_future(sheet.area.drawn())
    await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
        sheet.area.put(call(1, "failed"))
    assert (drawing.done(), sheet.outputs) == (True, [group(call(1))])
    sheet.area.settle()
    assert sheet.outputs == [group(call(1, "failed"))]
