"""Entries in, lines out, where nothing can be drawn again."""

from copilot_kernel.conversation.model import Entry, Plan
from copilot_kernel.output.console import Console
from copilot_kernel.views.pacer import MAX_PER_SECOND

from .recording import Loop, RecordingCell, call, notice, said, spoken
from .sheet import asked


def console(*entries: Entry) -> tuple[Console, RecordingCell, Loop]:
    """One that was told of `entries`."""
    cell, loop = RecordingCell(cell_id=None), Loop()
    sheet = Console(cell, loop)
    for entry in entries:
        sheet.put(entry)
    return sheet, cell, loop


def test_text_is_printed_as_it_comes_the_first_of_it_at_once() -> None:
    sheet, cell, loop = console(said(1, "a"))
    loop.pass_time()
    assert cell.printed == "a"
    for end in range(2, 9):
        sheet.put(said(1, *"abcdefgh"[:end]))
    loop.pass_time(0.5 / MAX_PER_SECOND)
    assert cell.printed == "a"
    loop.pass_time(1 / MAX_PER_SECOND)
    assert (cell.kinds, cell.printed) == (["stream", "stream"], "abcdefgh")
    sheet.put(said(1, *"abcdefgh", "\x1b[2J\u202e"))
    loop.pass_time(1 / MAX_PER_SECOND)
    assert cell.printed == "abcdefgh⟨U+202E⟩"


def test_a_tool_call_is_printed_once_when_it_is_over() -> None:
    sheet, cell, loop = console(call(1, "pending"), call(1, "in_progress"))
    loop.pass_time(1.0)
    assert cell.sent == []
    for _ in range(2):
        sheet.put(call(1, "completed"))
    loop.pass_time(1.0)
    assert cell.printed == "✓ Step 1\n"


def test_whatever_follows_text_begins_on_a_new_line() -> None:
    messages = (said(1, "Let me see."), call(2), said(3, "Good.\n"), call(4), said(5, "One"), said(6, "Two"))
    sheet, cell, _ = console(*messages)
    sheet.settle()
    assert cell.printed == "Let me see.\n✓ Step 2\nGood.\n✓ Step 4\nOne\nTwo"


def test_thoughts_and_plans_are_printed_when_something_else_begins() -> None:
    sheet, cell, _ = console(spoken(1, "thought", "Hm"), Plan(2, 1, ()), spoken(1, "thought", "Hm", ", well."))
    assert cell.printed == "Thinking:\n  Hm\n"
    sheet.put(call(3, "in_progress"))
    assert len(cell.sent) == 2


def test_what_is_not_over_is_printed_at_the_end() -> None:
    sheet, cell, _ = console(call(1, "in_progress"), spoken(2, "thought", "Hm"))
    sheet.settle()
    sheet.settle()
    assert cell.printed == "◐ Step 1 · running\nThinking:\n  Hm\n"


def test_a_question_is_printed_below_what_was_said() -> None:
    sheet, cell, _ = console(said(1, "I edit."), call(2, "waiting"))
    close = sheet.open_question(asked(2, {"text/plain": "May it?"}))
    close(notice(-1, "Allowed"))
    sheet.put(call(2, decision="allowed by you"))
    assert cell.printed == "I edit.\nMay it?\n✓ Step 2 · allowed by you\n"
