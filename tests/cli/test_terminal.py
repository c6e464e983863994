"""What `ask` writes about tool calls: in memory, call by call."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, Location, Text
from copilot_kernel.cli.paper import StreamPrinter
from copilot_kernel.cli.terminal import Terminal
from copilot_kernel.conversation.model import ToolCall, Unasked

ROOT = "/project"


def written(*calls: ToolCall) -> str:
    """What the terminal shows of these looks of calls."""
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(StreamPrinter(out, err, on_lost=lambda: None), person=False, quiet=False, root=ROOT)
    for call in calls:
        terminal.show(call)
    assert out.getvalue() == ""
    return err.getvalue()


def command(output: str, exit_code: int | None = None, **more: Any) -> ToolCall:
    more.setdefault("raw_input", {"command": "make test"})
    raw = {"content": output} | ({} if exit_code is None else {"exitCode": exit_code})
    call = ToolCall(0, 1, "c", "Run the tests", kind="execute", status="completed")
    return replace(call, raw_output=raw, **more)


def test_a_command_that_exits_with_1_is_marked_as_failed_with_its_output() -> None:
    begun = command("", status="in_progress")
    assert written(begun, command("one\ntwo\n", 1)) == (
        "… Run the tests · $ make test\n✗ Run the tests · $ make test (exit code 1)\n  one\n  two\n"
    )


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (command("ok\n", 0), "✓ Run the tests · $ make test (exit code 0)\n  ok\n"),
        (command("Exit code 3\nno\n"), "✗ Run the tests · $ make test (exit code 3)\n  no\n"),
        (command("", 0), "✓ Run the tests · $ make test (exit code 0)\n"),
        (command("ok"), "✓ Run the tests · $ make test\n  ok\n"),
        (
            command("ok", 1, decision="Allowed: Yes (you)", unasked=Unasked("ran")),
            "✗ Run the tests · $ make test (exit code 1) (Allowed: Yes (you)) (⚠ ran)\n  ok\n",
        ),
        (
            command("", status="rejected", decision="Rejected: No (you)"),
            "⊘ Run the tests · $ make test (Rejected: No (you))\n",
        ),
        (command("no such thing", status="failed"), "✗ Run the tests · $ make test\n  no such thing\n"),
        (command("ok", 0, title="make test"), "✓ make test (exit code 0)\n  ok\n"),
        (command("ok", 0, title="Run make test"), "✓ Run make test (exit code 0)\n  ok\n"),
        (command("\x1b[31mred\x1b[0m\r\n%\r100%\n", 0), "✓ Run the tests · $ make test (exit code 0)\n  red\n  100%\n"),
    ],
)  # fmt: skip
def test_a_command_shows_its_exit_code_and_output(call: ToolCall, shown: str) -> None:
    assert written(call) == shown


def test_hidden_characters_are_shown_as_codes() -> None:
    bad, shown = "a\u202eb\u200b", "a⟨U+202E⟩b⟨U+200B⟩"
    call = command("", 0, title=bad, raw_input={"command": bad}, decision=bad, unasked=Unasked(bad))
    assert written(call) == f"✓ {shown} (exit code 0) ({shown}) (⚠ {shown})\n"


def test_of_a_long_output_the_last_lines_are_shown() -> None:
    output = "\n".join(map(str, range(1, 101)))
    last = [f"  {number}" for number in range(91, 101)]
    assert written(command(output, 1)).splitlines()[1:] == ["  … 90 lines not shown …", *last]


def test_an_edit_and_a_read_name_their_files() -> None:
    edit = ToolCall(0, 1, "e", "Edit file", kind="edit", status="completed")
    edit = replace(edit, content=(Diff(f"{ROOT}/src/a.py", "old", "new"),))
    read = ToolCall(1, 1, "r", "View", kind="read", status="completed", raw_output={"content": "the whole file"})
    read = replace(read, locations=(Location(f"{ROOT}/b.py", 7), Location("/etc/hosts", None)))
    named = replace(read, id=2, call_id="n", title="Read b.py", locations=(Location(f"{ROOT}/b.py", None),))
    assert written(edit, read, named) == "✓ Edit file · src/a.py\n✓ View · b.py:7 · /etc/hosts\n✓ Read b.py\n"


def test_what_an_agent_names_cannot_leave_its_line() -> None:
    read = ToolCall(0, 1, "r", "View\nfile", kind="read", status="completed", locations=(Location("/a\n✓ b", None),))
    hostile = command("ok", 1, raw_input={"command": "make\n✓ all"})
    assert written(read).count("\n") == 1
    assert written(hostile).count("\n") == 2


def test_the_output_of_a_failed_edit_says_why() -> None:
    edit = ToolCall(0, 1, "e", "Edit a.py", kind="edit", status="failed", content=(Text("no match found"),))
    assert written(edit) == "✗ Edit a.py\n  no match found\n"
