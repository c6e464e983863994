"""An answer as a value, and how its cell ends."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, TextBlock
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.conversation.outcome import TurnOutcome
from copilot_kernel.errors import REPORT_BUG, UsageError
from copilot_kernel.ipython.magic_session import Cancelled, outcome
from copilot_kernel.ipython.turn_value import CodeBlock, Turn
from copilot_kernel.undo.record import ListedChange
from IPython.core.formatters import DisplayFormatter
from msgspec import structs

TEXT = "Do:\n\n```python title=a.py\nx = 1\n```\n\n- or\n\n  ~~~\n  y\n  ~~~\n\nand `not this`\n\n    indented\n"
SAID = TurnOutcome(1, "end_turn", TEXT, (), "s1", "demo", "scripted", usage={"totalTokens": 5})


def test_code_blocks_are_those_of_the_markdown() -> None:
    blocks = (CodeBlock("python", "x = 1\n"), CodeBlock("", "y\n"), CodeBlock("", "indented\n"))
    assert Turn(SAID).code_blocks == blocks
    assert (blocks[0].language, blocks[0].code) == ("python", "x = 1\n")


def test_diffs_are_those_of_completed_calls() -> None:
    done = ToolCall(1, 1, "a", status="completed", content=(TextBlock("x"), Diff("a.py", None, "new")))
    calls = (done, structs.replace(done, id=2, status="rejected", content=(Diff("b.py", "old", "new"),)))
    turn = Turn(replace(SAID, tool_calls=calls))
    assert (turn.tool_calls, turn.diffs) == (calls, (Diff("a.py", None, "new"),))
    assert [(file.path, file.what, file.added) for file in turn.file_changes] == [("a.py", "new", 1)]


def test_changes_are_those_of_the_whole_session() -> None:
    changes = (ListedChange(1, "file", "a.py", "new", "Write a.py"), ListedChange(2, "command", "", "", "make"))
    turn = Turn(SAID, changes)
    assert turn.changes == turn.cancelled().changes == changes
    with pytest.raises(UsageError, match="Undo is off"):
        _ = Turn(SAID, None).changes


def test_an_interrupted_turn_keeps_what_was_said() -> None:
    turn = Turn(SAID).cancelled()
    assert (turn.stop_reason, turn.text) == ("cancelled", TEXT)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (SAID, f"<Turn end_turn, {len(TEXT)} characters, 3 code blocks>"),
        (replace(SAID, text="", stop_reason="cancelled"), "<Turn cancelled, 0 characters>"),
        (
            replace(
                SAID, text="", tool_calls=(ToolCall(1, 1, "a", status="completed", content=(Diff("a", "", "b"),)),)
            ),
            "<Turn end_turn, 0 characters, 1 tool call, 1 diff>",
        ),
    ],
)
def test_its_repr_says_what_is_in_it(turn: TurnOutcome, said: str) -> None:
    assert repr(Turn(turn)) == said


def test_ipython_shows_the_text_as_safe_html_and_as_it_is() -> None:
    shown, _ = DisplayFormatter().format(Turn(replace(SAID, text="**Bold** <script>x</script>")))
    assert set(shown) == {"text/plain", "text/html"}
    assert shown["text/plain"] == "**Bold** <script>x</script>"
    assert ("<strong>Bold</strong>" in shown["text/html"], "<script" in shown["text/html"]) == (True, False)


def test_an_empty_answer_shows_its_repr() -> None:
    shown, _ = DisplayFormatter().format(Turn(replace(SAID, text="\n")))
    assert shown == {"text/plain": "<Turn end_turn, 1 characters>"}


# -- how the cell ends ------------------------------------------------------------------------------------------------


async def test_an_interrupt_that_comes_when_all_was_said_still_cancels_the_cell() -> None:
    ended: Any = asyncio.Future()
    ended.set_result(Turn(SAID))
    turn, error = outcome(ended, interrupted=True)
    assert (turn.text, turn.stop_reason, type(error)) == (TEXT, "cancelled", Cancelled)


async def test_a_bug_ends_the_cell_and_asks_for_a_report() -> None:
    ended: Any = asyncio.Future()
    ended.set_exception(bug := KeyError())
    assert outcome(ended, interrupted=False) == (None, bug)
    assert bug.__notes__ == [REPORT_BUG]
