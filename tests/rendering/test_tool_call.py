"""A tool call in words and in HTML, in the shapes that real agents send."""

from __future__ import annotations

from dataclasses import replace

import pytest
from copilot_kernel.acp.messages import Diff, Location, TerminalContent, TextBlock
from copilot_kernel.conversation.excerpt import Excerpt
from copilot_kernel.conversation.model import Unasked
from copilot_kernel.rendering.entry import render
from copilot_kernel.rendering.markup import AMBER, RED

from .allowed import text_of
from .samples import GIT_DIFF, call


def plain(**fields):
    return render(call(**fields), "/project")["text/plain"]


def html(**fields):
    return render(call(**fields), "/project")["text/html"]


@pytest.mark.parametrize(("fields", "words"), [
    ({}, "○ other · pending"),
    ({"title": "Look", "status": "waiting"}, "◌ Look · waiting for your answer"),
    ({"title": "Look", "status": "completed"}, "✓ Look · done"),
    ({"title": "Look", "status": "cancelled"}, "■ Look · cancelled"),
    ({"title": "Look", "status": "paused"}, "• Look · paused"),
    ({"title": "Look", "status": "completed", "decision": "Allowed: Yes (you)"}, "✓ Look · done · Allowed: Yes (you)"),
    ({"title": "Look", "status": "rejected", "decision": "Rejected: No (you)"}, "⊘ Look · Rejected: No (you)"),
    ({"title": "two\nlines"}, "○ two lines · pending"),
])  # fmt: skip
def test_the_first_line_says_what_and_how_it_went(fields, words):
    assert plain(**fields) == words


def test_a_call_that_ran_without_asking_says_so_in_words_and_in_red():
    bundle = render(call(title="Look", status="completed", unasked=Unasked("ran without asking")))
    assert bundle["text/plain"] == "✓ Look · done · ⚠ ran without asking"
    assert f'color:{AMBER}">⚠ ran without asking</span>' in bundle["text/html"]
    assert f"border-left:3px solid {AMBER}" in bundle["text/html"]


def test_a_call_that_the_user_had_allowed_before_is_not_accused():
    words = "covered by the rule <Edit>"
    bundle = render(call(title="Look", status="completed", unasked=Unasked(words, covered=True)))
    assert bundle["text/plain"] == f"✓ Look · done · {words}"
    assert (RED in bundle["text/html"], "&lt;Edit&gt;" in bundle["text/html"]) == (False, True)


@pytest.mark.parametrize(("title", "location", "words"), [
    ("Read", Location("/project/src/a.py"), "○ Read · src/a.py · pending"),
    ("Read", Location("/project/src/a.py", 7), "○ Read · src/a.py:7 · pending"),
    ("Read src/a.py", Location("/project/src/a.py"), "○ Read src/a.py · pending"),
    ("Read src/a.py", Location("/project/src/a.py", 7), "○ Read src/a.py · src/a.py:7 · pending"),
    ("Read", Location("/project/../etc/passwd"), "○ Read · /project/../etc/passwd · pending"),
    ("Read", Location("/project"), "○ Read · pending"),
])  # fmt: skip
def test_a_place_is_short_but_never_misleading(title, location, words):
    assert plain(title=title, locations=(location,)) == words


@pytest.mark.parametrize(("raw_input", "commands"), [
    ({"command": "ls -l", "commands": ["ls -l"]}, ["$ ls -l"]),
    ({"commands": ["ls -l", "rm x"]}, ["$ ls -l", "$ rm x"]),
    ({"command": "ls", "commands": ["rm -rf ~"]}, ["$ ls", "$ rm -rf ~"]),
    ({"command": ["bash", "-lc", "ls -l | wc"]}, ["$ bash -lc 'ls -l | wc'"]),
    ({"command": ["ls", 3]}, ["$ ls 3"]),
])  # fmt: skip
def test_every_command_is_shown_whole(raw_input, commands):
    lines = plain(title="Run", raw_input=raw_input).split("\n")[1:]
    assert [line.strip() for line in lines if "$" in line] == commands


def test_a_command_that_is_the_title_is_shown_once():
    assert plain(title="ls -l", raw_input={"command": "ls -l"}) == "○ $ ls -l · pending"
    assert html(title="ls -l", raw_input={"command": "ls -l"}).count("ls -l") == 1


COPILOT = {"content": "out", "contents": [{"type": "shell_exit", "shellId": "0", "exitCode": 3}]}


@pytest.mark.parametrize("fields", [
    {"raw_output": COPILOT},
    {"content": (TextBlock("out\n<shellId: 0 completed with exit code 3>"),)},
    {"content": (TextBlock("```console\nExit code 3\nout\n```"),)},
    {"raw_output": {"output": "out", "exitCode": 3}},
    {"raw_output": {"output": "out", "exit_code": 3}},
    {"raw_output": {"output": "out", "metadata": {"exit": 3}}},
    {"raw_output": {"stdout": "out", "returncode": 3}},
    {"meta": {"terminal_output": {"data": "out"}, "terminal_exit": {"exit_code": 3}}},
])  # fmt: skip
def test_a_command_that_failed_looks_like_it_whatever_the_agent_calls_it(fields):
    shown = render(call(title="Run", kind="execute", status="completed", **fields))
    assert shown["text/plain"] == "✗ Run · exit 3\n  out"
    assert f'<span style="color:{RED}">✗ exit 3</span>' in shown["text/html"]


@pytest.mark.parametrize(
    "raw_output", [{"code": 3}, {"exitCode": "3"}, {"exitCode": True}, {"exitCode": None}, [3], "3"]
)
def test_what_is_no_exit_code_is_not_taken_for_one(raw_output):
    assert plain(title="Run", status="completed", raw_output=raw_output).split("\n")[0] == "✓ Run · done"


@pytest.mark.parametrize(("fields", "output"), [
    ({"raw_output": {"content": "one\ntwo\n"}}, "  one\n  two"),
    ({"raw_output": {"stdout": "one\n", "stderr": "two"}}, "  one\n  two"),
    ({"raw_output": {"content": [{"type": "text", "text": "one"}]}}, "  one"),
    ({"raw_output": {"rows": [1]}}, '  {\n    "rows": [\n      1\n    ]\n  }'),
    ({"content": (TextBlock("one"),), "raw_output": {"content": "one more"}}, "  one"),
    ({"content": (TerminalContent("t"),), "meta": {"terminal_output": {"data": "one", "terminal_id": "t"}}}, "  one"),
    ({"content": (TerminalContent("t"),)}, "  (terminal t: no output was sent)"),
    ({"content": (TerminalContent("t", "whole"),), "meta": {"terminal_output": "late"}}, "  whole"),
    ({"content": (TextBlock("\x1b[32mone\x1b[0m\rtwo"),)}, "  two"),
    ({"content": (TextBlock("```\none\n```\nand\n```\ntwo\n```"),)}, "  ```\n  one\n  ```\n  and\n  ```\n  two\n  ```"),
])  # fmt: skip
def test_output_is_found_where_agents_put_it(fields, output):
    assert plain(title="Run", status="completed", **fields) == f"✓ Run · done\n{output}"


def test_a_failure_shows_its_reason_beside_what_was_said_before():
    shown = plain(title="Run", status="failed", content=(TextBlock("began"),), raw_output={"message": "no such file"})
    assert shown == "✗ Run · failed\n  began\n  no such file"


def test_short_output_is_open_and_long_output_folded():
    twelve, thirteen = ("\n".join(map(str, range(count))) for count in (12, 13))
    assert "<details>" not in html(title="Run", status="completed", content=(TextBlock(twelve),))
    folded = html(title="Run", status="completed", content=(TextBlock(thirteen),))
    assert text_of(folded.partition("<details>")[2]) == f"output 13 lines · … 12{thirteen}"


def test_a_change_of_the_file_in_the_title_needs_no_line_of_its_own():
    shown = html(title="Edit a.py", kind="edit", status="completed", content=(Diff("/project/a.py", "x\n", "y\n"),))
    assert text_of(shown).split("\n")[0] == "✎ Edit a.py +1 −1 ✓ done"


def test_a_unified_diff_that_says_the_same_has_the_numbers_of_the_file():
    raw_input = {"fileName": "/project/notes.txt", "diff": GIT_DIFF}
    shown = plain(title="Edit", kind="edit", raw_input=raw_input, content=(Diff("/project/notes.txt", "two", "TWO"),))
    assert shown == (
        "○ Edit · pending\n  --- notes.txt\n  +++ notes.txt\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +TWO\n   three"
    )


def test_a_unified_diff_that_comes_with_the_result_does_not_change_what_the_question_showed():
    diff = Diff("/project/notes.txt", "two", "TWO")
    fields = {"title": "Edit", "kind": "edit", "content": (diff,), "raw_output": {"detailedContent": GIT_DIFF}}
    assert "@@ -1,3 +1,3 @@" in plain(**fields)
    assert "@@ -8 +8 @@\n  -two\n  +TWO" in plain(**fields, excerpts={diff: Excerpt(8, "", "\n")})


def test_a_unified_diff_that_says_something_else_does_not_replace_the_change():
    raw_input = {"fileName": "/project/notes.txt", "diff": GIT_DIFF}
    shown = plain(title="Edit", kind="edit", raw_input=raw_input, content=(Diff("/project/notes.txt", "a\n", "b\n"),))
    assert "  -a\n  +b" in shown


@pytest.mark.parametrize(("tool", "status", "is_folded"), [
    ("run_cell", "completed", True), ("run_cell", "failed", False), ("run_python", "completed", False)
])  # fmt: skip
def test_what_ran_in_a_cell_is_folded_where_it_can_be_seen_in_the_cell(tool, status, is_folded):
    source = (TextBlock("```python\nx = 1\nx\n```"),)
    ours = {"call_id": "copilot-kernel-notebook-1", "name": f"mcp__notebook__{tool}", "content": source}
    shown = render(replace(call(title="Run cell 2", status=status), **ours))["text/html"]
    assert ("source 2 lines · … x" in text_of(shown)) == ("<details>" in shown) == is_folded
    assert "x = 1" in text_of(shown)


def test_what_a_tool_was_given_is_folded_json():
    shown = html(title="Search", name="search", raw_input={"query": "<x>"})
    assert text_of(shown.partition("<details>")[2]) == 'input{\n  "query": "<x>"\n}'


def test_what_is_said_already_is_not_said_again():
    raw_input = {"command": "ls", "description": "List it", "path": "/project/a", "nothing": None}
    assert plain(title="List it", raw_input=raw_input) == "○ List it · a · pending\n  $ ls"


def test_a_very_long_title_is_folded():
    shown = html(title="word " * 100)
    assert shown.count("word") == 28 + 100
    assert "whole title" in shown
