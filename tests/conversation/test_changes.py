"""What a turn changed and ran, computed from its tool calls."""

from functools import partial
from itertools import count
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, TerminalContent, TextBlock
from copilot_kernel.conversation import changes
from copilot_kernel.conversation.changes import FileChange, TurnChanges, changes_of, kinds_of, line_counts
from copilot_kernel.conversation.excerpt import Excerpt
from copilot_kernel.conversation.line_diff import Change
from copilot_kernel.conversation.model import CallOutcome, ToolCall
from msgspec.structs import replace

from ..rendering.samples import GIT_DIFF
from .recorded import replayed

PATH = "/project/a.py"
_numbers = count()


def call(*content: Any, **more: Any) -> ToolCall:
    number = next(_numbers)
    fields = {"call_id": f"call-{number}", "kind": "edit", "status": "completed", "content": content, **more}
    return ToolCall(number, 1, **fields)


def edit(old: str | None, new: str, path: str = PATH, **more: Any) -> ToolCall:
    return call(Diff(path, old, new), **more)


def command(title: str, **more: Any) -> ToolCall:
    return call(title=title, kind="execute", raw_input={"command": title}, **more)


def of(*calls: ToolCall) -> TurnChanges:
    return changes_of(calls, "/project")


def net(*calls: ToolCall) -> list[tuple[str, str, int, int]]:
    return [(file.path, file.what, file.added, file.removed) for file in of(*calls).files]


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("calls", "change"), [
    pytest.param([edit("a\nb\n", "a\nB\n")], ("changed", 1, 1), id="one edit"),
    pytest.param([edit("a\n", "b\n"), edit("b\n", "c\n")], ("changed", 1, 1), id="goes on"),
    pytest.param([edit("a\nb\n", "a\nB\nC\n"), edit("C", "D")], ("changed", 2, 1), id="inside of what was written"),
    pytest.param([edit("a\n", "b\n"), edit("1\n", "2\n")], ("changed", 2, 2), id="elsewhere"),
    pytest.param([edit("a\n", "b\n"), edit("1\n", "2\n"), edit("b\n", "c\n")], ("changed", 2, 2), id="in turns"),
    pytest.param([edit("b\n", "B\n"), edit("a\nb\n", "a\nB\n")], ("changed", 1, 1), id="reported as part and whole"),
    pytest.param([edit(None, "a\nb\n"), edit("b", "c")], ("new", 2, 0), id="new"),
    pytest.param([edit("", "a\n"), edit(None, "b\nc\n")], ("new", 2, 0), id="new, written twice"),
    pytest.param([edit(None, "")], ("new", 0, 0), id="new and empty"),
    pytest.param([edit("a\nb\n", "", kind="delete")], ("deleted", 0, 2), id="deleted"),
    pytest.param([edit("a\n", "A\n"), edit("A\nb\n", "", kind="delete")], ("deleted", 0, 2), id="edited and deleted"),
    pytest.param([call(kind="delete", raw_input={"path": PATH})], ("deleted", 0, 0), id="deleted, not shown"),
    pytest.param([edit("a\n", "", kind="delete"), edit(None, "b\n")], ("changed", 1, 1), id="deleted and written"),
    pytest.param([call(kind="move", raw_input={"path": PATH})], ("moved", 0, 0), id="moved"),
    pytest.param([call(raw_input={"file_path": PATH})], ("changed", 0, 0), id="not shown"),
    pytest.param([call(raw_input={"path": PATH, "diff": GIT_DIFF})], ("changed", 1, 1), id="unified diff"),
    pytest.param([edit("a\n", "b\n", kind="other")], ("changed", 1, 1), id="by a tool of another kind"),
])  # fmt: skip
def test_the_net_change_of_a_file(calls: list[ToolCall], change: tuple[str, int, int]) -> None:
    assert net(*calls) == [("a.py", *change)]


@pytest.mark.parametrize("calls", [
    pytest.param([edit("a", "b"), edit("b", "a")], id="taken back"),
    pytest.param([edit(None, "a"), call(kind="delete", raw_input={"path": PATH})], id="new and deleted"),
    pytest.param([edit("a", "a")], id="the same"),
    pytest.param([edit("a", "b", status="failed")], id="failed"),
    pytest.param([edit("a", "b", status="rejected")], id="rejected"),
    pytest.param([edit("a", "b", status="cancelled")], id="cancelled"),
    pytest.param([call(kind="read", raw_input={"path": PATH})], id="read"),
    pytest.param([edit("a", "b", call_id="copilot-kernel-notebook-1")], id="a cell"),
])  # fmt: skip
def test_no_net_change(calls: list[ToolCall]) -> None:
    assert net(*calls) == []


def test_what_was_done_although_it_was_refused_has_changed() -> None:
    done = edit("a", "b", status="rejected", outcome=CallOutcome("completed", verdict="rejected"))
    assert (net(done), of(done).refused) == ([("a.py", "changed", 1, 1)], 0)


def test_files_are_named_relative_to_the_folder_and_once() -> None:
    calls = (edit("a", "b", "src/x.py"), edit("b", "c", "/project/src/x.py"), edit("a", "b", "/etc/hosts"))
    assert [path for path, *_ in net(*calls)] == ["src/x.py", "/etc/hosts"]


def test_the_parts_of_a_file_are_the_changes_from_its_first_text_to_its_last() -> None:
    [file] = of(edit("a\n", "b\n"), edit("1\n", "2\n"), edit("b\n", "c\n")).files
    shown = [[(line.mark, line.text) for line in part.lines if line.mark in "+-"] for part in file.parts]
    assert shown == [[("-", "1"), ("+", "2")], [("-", "a"), ("+", "c")]]


AFTER = "".join(f"{n}\n" for n in range(1, 21)).replace("5\n", "five\nand more\n", 1).replace("18\n", "", 1)
WHERE = Excerpt(15, "15\n16\n17\n", "19\n20\n")


def numbered(part: Change) -> list[tuple[str, str, int | None, int | None]]:
    return [(line.mark, line.text, line.old, line.new) for line in part.lines if line.mark in "+-"]


def test_in_a_file_whose_text_is_known_the_edits_are_one_change_with_true_numbers() -> None:
    removed = edit("18\n", "")
    removed = replace(removed, excerpts={removed.content[0]: WHERE})
    calls = [edit("5", "cinco"), removed, edit("cinco", "five\nand more")]
    [file] = changes_of(calls, "/project", {PATH: AFTER}.get).files
    [part] = file.parts
    shown = [("-", "5", 5, None), ("+", "five", None, 5), ("+", "and more", None, 6), ("-", "18", 18, None)]
    assert (numbered(part), part.is_numbered, file.words) == (shown, True, "+2 −2")
    assert [line.text for line in part.lines if line.mark == " "] == [*map(str, (2, 3, 4, 6, 7, 8, 15, 16, 17, 19, 20))]


@pytest.mark.parametrize(("calls", "text"), [
    pytest.param([edit("5", "five")], "five\nfive\n", id="there twice"),
    pytest.param([edit("5", "five")], "something else\n", id="not there any more"),
    pytest.param([edit("5", "five"), edit("18\n", "")], AFTER, id="where something was removed"),
    pytest.param([edit("5", "five")], None, id="not known"),
])  # fmt: skip
def test_without_its_place_in_the_file_a_change_has_no_numbers(calls: list[ToolCall], text: str | None) -> None:
    [file] = changes_of(calls, "/project", lambda path: text).files
    assert [part.is_numbered for part in file.parts] == [False] * len(calls)


def test_where_the_text_is_not_known_the_only_edit_is_where_it_was_when_it_came() -> None:
    made = edit("18\n", "eighteen\n")
    made = replace(made, excerpts={made.content[0]: WHERE})
    [file] = of(made).files
    assert numbered(file.parts[0]) == [("-", "18", 18, None), ("+", "eighteen", None, 18)]
    [file] = of(edit("5\n", "five\n"), made).files
    assert [(part.is_numbered, len(part.lines)) for part in file.parts] == [(False, 3), (False, 8)]


def test_line_ends_of_the_disk_do_not_hide_a_change() -> None:
    [file] = changes_of(
        [edit("5\n6\n", "five\nand more\n6\n")], "/project", lambda path: AFTER.replace("\n", "\r\n")
    ).files
    assert file.parts[0].is_numbered


def test_of_many_edits_only_the_counts_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [edit(f"{n}\nb\n", f"{n}\nc\nd\n", f"/project/{n}.py") for n in range(3)]
    exact = of(*calls)
    monkeypatch.setattr(changes, "_Budget", partial(changes._Budget, compared=20))
    rough = of(*calls)
    assert [file.words for file in rough.files] == [file.words for file in exact.files] == ["+2 −1"] * 3
    assert [file.parts[0].is_rough for file in rough.files] == [False, False, True]


def test_many_edits_of_a_file_count_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [edit(f"{n}\n", f"{n + 1}\n") for n in range(4)]
    monkeypatch.setattr(changes, "_CHARS_A_SEARCH", changes.MAX_SEARCHED_CHARS // 2)
    assert (net(*calls), len(of(*calls).files[0].parts)) == ([("a.py", "changed", 2, 2)], 2)


def test_counts_of_all_files() -> None:
    files = of(edit("a\n", "b\nc\n"), edit(None, "1\n", "/project/new.py")).files
    assert (line_counts(files), line_counts(files[1:]), line_counts(())) == ("+3 −1", "+1", "")
    assert [file.words for file in files] == ["+2 −1", "new"]
    assert FileChange("a", "changed").words == ""


# -- commands -------------------------------------------------------------------------------------------------------


def test_commands_that_ran_with_their_exit_codes() -> None:
    ran = of(
        command("ls"),
        command("pytest", raw_output={"exitCode": 1}),
        command("make", content=(TerminalContent("t"),), meta={"terminal_exit": {"exit_code": 0}}),
        command("gone", status="failed", content=(TextBlock("not found"),)),
        command("rm", status="rejected"),
        command("sleep", status="cancelled"),
        call(kind="other", title="bash", raw_input={"command": "date"}),
        call(kind="edit", title="Edit", raw_input={"command": "str_replace", "path": PATH}),
    )
    assert (ran.commands, ran.failed, ran.refused) == (("ls", "pytest", "make", "gone", "bash"), 2, 1)


def test_calls_are_counted_by_kind() -> None:
    kinds = ("read", "think", "edit", "edit", "delete", "fetch", "fetch")
    calls = [call(kind=kind) for kind in kinds]
    date = call(kind="other", raw_input={"command": "date"})
    words = "2 edits, 1 deletion, 1 read, 2 fetches, 1 command, 1 other"
    assert kinds_of((*calls, date)) == words
    assert kinds_of([command("ls"), command("ls")]) == "2 commands"


# -- real agents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["claude-agent-acp", "copilot", "gemini", "opencode"])
def test_what_real_agents_changed(agent: str) -> None:
    found = {name: recorded(f"{agent}-{name}") for name in ("create", "edit-allowed", "edit-rejected", "shell")}
    assert [(file.path, file.words) for file in found["create"].files] == [("new.py", "new")]
    assert [(file.path, file.words) for file in found["edit-allowed"].files] == [("notes.txt", "+1 −1")]
    assert (found["edit-rejected"].files, found["edit-rejected"].refused) == ((), 1)
    # Gemini does not report exit codes.
    assert (len(found["shell"].commands), found["shell"].failed) == (1, agent != "gemini")


def recorded(name: str) -> TurnChanges:
    return of(*(entry for entry in replayed(name).entries if isinstance(entry, ToolCall)))
