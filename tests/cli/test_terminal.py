"""What `ask` writes, in memory: about tool calls, and who writes where."""

from __future__ import annotations

import io
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, Location
from copilot_kernel.cli.printer import StreamPrinter
from copilot_kernel.cli.terminal import Terminal
from copilot_kernel.conversation.model import ToolCall, Unasked
from msgspec.structs import replace

from .screen import Clock, Screen

ROOT = "/project"


def written(*calls: ToolCall | float, err: io.StringIO | None = None) -> str:
    """What the terminal shows of these looks of calls; a number lets that many seconds pass."""
    out, err, clock = io.StringIO(), err or io.StringIO(), Clock()
    printer = StreamPrinter(out, err, on_lost=lambda: None)
    terminal = Terminal(printer, person=False, quiet=False, root=ROOT, clock=clock)
    for each in calls:
        if isinstance(each, ToolCall):
            terminal.show(each)
        else:
            clock.now += each
    assert out.getvalue() == ""
    return err.getvalue()


def command(output: str, exit_code: int | None = None, **more: Any) -> ToolCall:
    more.setdefault("raw_input", {"command": "make test"})
    raw = {"content": output} | ({} if exit_code is None else {"exitCode": exit_code})
    call = ToolCall(0, 1, "c", "Run the tests", kind="execute", status="completed")
    return replace(call, raw_output=raw, **more)


def test_a_command_that_exits_with_1_is_marked_as_failed_with_its_output() -> None:
    begun = command("", status="in_progress")
    assert written(begun, 0.44, command("one\ntwo\n", 1)) == (
        "… Run the tests · $ make test\n✗ Run the tests · $ make test · exit 1 · 0.4 s\n  one\n  two\n"
    )


def test_a_call_of_a_sub_agent_says_that_it_belongs_to_a_task() -> None:
    meta = {"github.com/copilot": {"agentId": "a"}}
    assert written(command("one\n", 1, meta=meta)) == "  ↳ ✗ Run the tests · $ make test · exit 1\n    one\n"


def test_the_time_that_a_question_takes_does_not_count() -> None:
    asked, begun = (command("", status=status) for status in ("waiting", "in_progress"))
    assert written(asked, 60, asked, begun, 2, command("", 0)).endswith("\n✓ Run the tests · $ make test · 2.0 s\n")

    refused = command("", status="rejected")
    assert written(asked, 60, refused).endswith("\n⊘ Run the tests · $ make test\n")


def test_what_comes_after_the_end_does_not_repeat_the_row() -> None:
    ended = command("ok", 0)
    assert written(ended, 5, ended) == "✓ Run the tests · $ make test\n"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (command("ok\n", 0), "✓ Run the tests · $ make test\n"),
        (command("ok"), "✓ Run the tests · $ make test\n"),
        (command("no", status="failed"), "✗ Run the tests · $ make test\n  no\n"),
        (
            command("ok", 1, decision="allowed by you", unasked=Unasked("ran")),
            "✗ Run the tests · $ make test · exit 1 · allowed by you · ⚠ ran\n  ok\n",
        ),
        (
            command("", status="rejected", decision="denied by you"),
            "⊘ Run the tests · $ make test · denied by you\n",
        ),
        (
            command("\x1b[31mred\x1b[0m\r\n%\r100%\n", 2),
            "✗ Run the tests · $ make test · exit 2\n  red\n  100%\n",
        ),
    ],
)  # fmt: skip
def test_a_command_shows_how_it_ended_and_if_it_failed_its_output(call: ToolCall, shown: str) -> None:
    assert written(call) == shown


def test_of_a_long_output_the_last_lines_are_shown() -> None:
    output = "\n".join(map(str, range(1, 101)))
    assert written(command(output, 1)).splitlines()[1:] == ["  …", "  96", "  97", "  98", "  99", "  100"]


def test_on_a_terminal_a_call_has_one_row_because_the_status_line_says_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    begun, ended = command("", status="in_progress"), command("", 0)
    assert written(begun, ended, err=Screen()) == "✓ Run the tests · $ make test\n"


def test_hidden_characters_are_shown_as_codes() -> None:
    bad, shown = "a\u202eb\u200b", "a⟨U+202E⟩b⟨U+200B⟩"
    call = command("", 0, title=bad, raw_input={"command": bad}, decision=bad, unasked=Unasked(bad))
    assert written(call) == f"✓ {shown} · {shown} · ⚠ {shown}\n"
    out = io.StringIO()
    StreamPrinter(out, io.StringIO(), on_lost=lambda: None).answer(1, f"\x1b[2J{bad}", begins=True)
    assert out.getvalue() == shown


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


# -- who writes where, and that no line begins in the middle of another ----------------------------------------------


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")


def streams(*, tty: bool) -> tuple[str, str]:
    out, err = Screen(tty=tty), Screen(tty=tty)
    printer = StreamPrinter(out, err, on_lost=lambda: pytest.fail("the reader has not gone"))
    printer.aside(1, "let me ")
    printer.aside(1, "see")
    printer.answer(2, "one ", begins=True)
    printer.line("… Read a.txt")
    printer.answer(2, "two", begins=False)
    printer.answer(3, "three", begins=True)
    printer.prompt("Answer 1-2: ")
    printer.entered()
    printer.line("done")
    printer.end()
    return out.getvalue(), err.getvalue()


def test_in_files_the_answer_stands_alone_and_whole():
    assert streams(tty=False) == ("one two\n\nthree\n", "let me see\n… Read a.txt\nAnswer 1-2: done\n")


def test_on_one_screen_every_writer_begins_a_line():
    assert streams(tty=True) == (
        "one \ntwo\n\nthree\n",
        "let me see\n… Read a.txt\nAnswer 1-2: done\n",
    )


def test_control_characters_of_the_agent_do_not_reach_the_terminal():
    out, err = Screen(), Screen()
    printer = StreamPrinter(out, err, on_lost=lambda: pytest.fail("the reader has not gone"))
    printer.answer(1, "a\x1b[2Jb\x1b]52;c;ZXZpbA==\x07c\x08\x9b1md\r\n\ud800e\x1b", begins=True)
    printer.answer(1, "[2Jf", begins=False)
    assert (out.getvalue(), err.getvalue()) == ("abcd\n\ufffde[2Jf", "")


def test_a_reader_that_leaves_is_noticed_once():
    class Closed(Screen):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    lost: list[str] = []
    printer = StreamPrinter(Closed(tty=False), Screen(tty=False), on_lost=lambda: lost.append("lost"))
    printer.answer(1, "one", begins=True)
    printer.answer(1, "two", begins=False)
    assert lost == ["lost"]
