"""What a cell shows and keeps of a turn that an error has ended: what was done until then, and how to take it back."""

import re
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.chat import TurnEnd, TurnOutcome
from copilot_kernel.errors import CopilotError
from copilot_kernel.output.display import Display
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.prompts.rerun import _saved_turns
from copilot_kernel.rendering.report import Wording

from ..output.recording import Loop, RecordingCell
from .session import Session, session

ENDS = ["die 3", "error -32603 No such luck"]
DIGEST = "480c2336b410f1ad"  # of "second\n"
FOOTER = "Changed one.txt  +1 −1\n1 command failed · permissions: bypassPermissions"


@pytest.fixture
def made(tmp_path: Path):
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="bypassPermissions") as made:
        (made.work / "one.txt").write_text("first\n")
        yield made


def failed(made: Session, end: str, live: bool = True) -> list[tuple[dict[str, str], dict[str, object]]]:
    outcome = made.run(f"demo: edit one.txt first => second\nshell echo out; exit 3\n{end}", live=live)
    assert outcome.error is not None
    return outcome.outputs


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_with_the_error_and_its_record_and_what_has_changed_which_can_be_undone(
    made: Session, end: str
) -> None:
    *_, (card, metadata), (footer, rest) = failed(made, end)
    assert card["text/plain"].startswith("✗ ")
    assert (footer["text/plain"], list(metadata), rest) == (FOOTER, ["copilot_kernel"], {})
    record: Any = metadata["copilot_kernel"]
    assert (record["stop_reason"], record["agent"]) == ("error", "demo agent")
    change = {"path": "one.txt", "what": "changed", "added": 1, "removed": 1, "digest": DIGEST}
    assert record["changes"] == [change]
    assert [(call["kind"], call["status"]) for call in record["calls"]] == [
        ("edit", "completed"),
        ("execute", "completed"),
    ]
    [key] = re.findall(r"copilot-undo-([\w-]+)", footer["text/html"])
    assert "Restored: one.txt" in made.run(f"%undo {key} restore").text
    assert (made.work / "one.txt").read_text() == "first\n"


def test_a_batch_run_gets_the_same_without_a_button(made: Session) -> None:
    *_, (footer, _) = failed(made, ENDS[1], live=False)
    assert (footer["text/plain"], "copilot-undo" in footer["text/html"]) == (FOOTER, False)


def test_it_is_no_answer_that_a_later_run_shows_again(made: Session) -> None:
    outputs = [
        {"output_type": "display_data", "data": data, "metadata": metadata} for data, metadata in failed(made, ENDS[1])
    ]
    [old] = _saved_turns(outputs)
    assert (old.files, old.outputs) == ({"one.txt": DIGEST}, ())


def test_a_turn_that_reached_no_agent_has_a_record_and_no_footer(tmp_path: Path) -> None:
    with session(tmp_path, COPILOT_KERNEL_AGENT="no-such-agent") as made:
        outcome = made.run("Hello")
    (card, metadata) = outcome.outputs[-1]
    assert "no-such-agent" in card["text/plain"]
    assert metadata == {
        "copilot_kernel": {
            "schema": 1,
            "permission_mode": "default",
            "stop_reason": "error",
            "calls": [],
            "changes": [],
        }
    }


async def test_its_advice_names_commands_as_this_front_end_types_them() -> None:
    cell = RecordingCell()
    cell.wording = Wording(prefix="%copilot %", commands=frozenset({"new"}))
    failure = CopilotError("No answer", "`%new` starts a new conversation.")
    outcome = TurnOutcome(1, "error", "", (), "s", "Copilot", failure=failure)
    Display(cell, PageReporter(), loop=Loop()).finish(TurnEnd.reported(outcome, "/project"))
    assert cell.plain[0] == "✗ No answer\n`%copilot %new` starts a new conversation."
