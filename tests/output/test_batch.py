"""Entries in, outputs out, where nobody watches: each is sent once, and depends on what was said alone."""

from collections.abc import Sequence
from typing import Any

import pytest
from copilot_kernel.acp.messages import PlanEntry
from copilot_kernel.conversation.model import Entry, Plan
from copilot_kernel.output.batch import Batch
from copilot_kernel.rendering.entry import render, render_group, render_text

from .recording import RecordingCell, call, notice, said, spoken


def batch(*entries: Entry) -> tuple[Batch, RecordingCell]:
    """A cell that was told of `entries`; the turn goes on."""
    cell = RecordingCell(live=False)
    sheet = Batch(cell)
    for entry in entries:
        sheet.put(entry)
    return sheet, cell


def text(source: str) -> dict[str, Any]:
    return render_text("agent", source)


def plan(entry_id: int, *statuses: str) -> Plan:
    return Plan(entry_id, 1, tuple(PlanEntry(f"Step {n}", status=status) for n, status in enumerate(statuses, 1)))


# -- when it is sent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "outputs"),
    [
        ([said(1, "I look.")], []),
        ([call(1)], []),
        ([said(1, "I look."), call(2, "pending")], [text("I look.")]),
        ([call(1, "in_progress"), said(2, "So.")], []),
        ([call(1, "in_progress"), said(2, "So."), call(1, "failed")], [render(call(1, "failed"))]),
        ([call(1, "waiting"), said(2, "So."), call(3)], []),
        ([call(1, "waiting"), said(2, "So."), call(3), call(1)], [render(call(1)), text("So.")]),
        ([plan(1, "pending"), said(2, "So.")], [render(plan(1, "pending"))]),
        ([spoken(1, "thought", "Hm."), notice(2, "Low")], []),
    ],
)
def test_an_output_is_sent_when_it_and_all_before_it_are_over(
    entries: Sequence[Entry], outputs: list[dict[str, Any]]
) -> None:
    assert batch(*entries)[1].outputs == outputs


def test_finished_pieces_of_a_long_message_are_sent_while_it_grows() -> None:
    paragraphs = [f"Paragraph {number} " + "word " * 300 + "\n\n" for number in range(60)]
    _, cell = batch(*(said(1, *paragraphs[:end]) for end in range(1, 61)))
    printed = "".join(cell.plain)
    assert len(cell.outputs) >= 3
    assert "".join(paragraphs).split()[: len(printed.split())] == printed.split()


def test_the_end_sends_the_others_and_the_second_end_nothing() -> None:
    sheet, cell = batch(call(1, "in_progress"), said(2, "So."))
    sheet.settle()
    sheet.settle()
    assert cell.sent == [("display", render(call(1, "in_progress"))), ("display", text("So."))]


def test_what_changed_after_it_was_sent_is_told_again_at_the_end() -> None:
    late = call(2, title="Step 2, and a word about it")
    sheet, cell = batch(plan(1, "pending"), call(2), call(3), said(4, "So."), late, plan(1, "completed"))
    sheet.settle()
    first = render_group([plan(1, "pending"), call(2), call(3)])
    assert cell.outputs == [first, text("So."), render_group([plan(1, "completed"), late])]
    assert set(cell.kinds) == {"display"}


def test_what_changed_without_looking_different_is_not_told_again() -> None:
    sheet, cell = batch(call(1), said(2, "So."), call(1, meta={"seen": True}))
    sheet.settle()
    assert cell.outputs == [render(call(1)), text("So.")]


def test_a_message_that_goes_on_after_it_was_sent_is_told_again_whole() -> None:
    sheet, cell = batch(said(1, "One"), call(2), said(1, "One", " more"))
    sheet.settle()
    assert cell.outputs == [text("One"), render(call(2)), text("One more")]
