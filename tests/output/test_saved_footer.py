"""What a saved notebook keeps of the end of a turn: a readable summary, and the record in the output's metadata."""

from typing import Any

import nbformat
import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import TurnEnd, TurnOutcome
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.output.display import Display
from copilot_kernel.pages.page_reporter import PageReporter

from .recording import Loop, RecordingCell, said

CALLS = (
    ToolCall(
        1, 1, "one", "Edit", kind="edit", status="completed", content=(Diff("/project/src/a.py", "a\n", "b\nc\n"),)
    ),
    ToolCall(
        2, 1, "two", "Create", kind="edit", status="completed", content=(Diff("/project/new.md", None, "# New\n"),)
    ),
    ToolCall(3, 1, "three", "pytest", kind="execute", status="completed", raw_output={"exitCode": 1}),
)
TURN = TurnOutcome(1, "end_turn", "Done.", CALLS, "s", "Copilot", model="m")
SUMMARY = "Changed 2 files  +3 −1\n  src/a.py  +2 −1\n  new.md  new\n1 command failed · Copilot, m"


def saved(*, live: bool = True, **options: Any) -> Any:
    """A notebook with one cell, saved after the turn."""
    cell = RecordingCell(live=live)
    display = Display(cell, PageReporter(), cwd="/project", loop=Loop(), **options)
    display.show(said(0, "Done."))
    display.finish(TurnEnd.reported(TURN, "/project"))
    outputs = [
        nbformat.v4.new_output("display_data", data=data, metadata=metadata or {})
        for (_, data), metadata in zip(cell.sent, cell.metadata, strict=True)
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("Do it.", outputs=outputs)])
    nbformat.validate(book)
    return book


@pytest.mark.parametrize("exporter", ["HTMLExporter", "MarkdownExporter"])
async def test_an_exported_notebook_says_what_changed(exporter: str) -> None:
    import nbconvert

    exported, _ = getattr(nbconvert, exporter)().from_notebook_node(saved())
    positions = [exported.find(each) for each in ("Done.", "Changed 2 files", "src/a.py", "1 command", "Copilot, m")]
    assert -1 not in positions
    assert positions == sorted(positions)
    fold = exported[exported.index("Changed 2 files") : exported.index("1 command")]
    assert ("# New" in fold, "\n\n" in fold) == (True, False)


@pytest.mark.parametrize("live", [True, False])
async def test_text_and_record_are_in_the_last_output_alone(live: bool) -> None:
    book = saved(live=live)
    *others, last = book.cells[0].outputs
    assert last.data["text/plain"].startswith(SUMMARY)
    assert last.metadata.copilot_kernel.changes[1] == {"path": "new.md", "what": "new", "added": 1, "removed": 0}
    assert [each.metadata for each in (book.cells[0], book, *others)] == [{}] * (2 + len(others))


async def test_a_batch_run_names_neither_time_nor_session() -> None:
    output = saved(live=False).cells[0].outputs[-1]
    assert output.data["text/plain"] == SUMMARY
    assert "session_id" not in output.metadata.copilot_kernel


async def test_a_conversation_that_is_shown_again_changes_nothing() -> None:
    output = saved(replays=True).cells[0].outputs[-1]
    assert "Changed" not in output.data["text/plain"]
    assert output.metadata.copilot_kernel.calls == []
