"""A tool call in words and in HTML, in the shapes that real agents send."""

import pytest
from copilot_kernel.acp.messages import Diff, Location, TerminalContent, TextBlock
from copilot_kernel.conversation.excerpt import Excerpt
from copilot_kernel.conversation.model import Unasked
from copilot_kernel.conversation.raw import output_of
from copilot_kernel.rendering.entry import is_lookup, render
from copilot_kernel.rendering.markup import AMBER, INDENT, RED
from copilot_kernel.rendering.output import MAX_GROWING_CHARS

from .allowed import text_of
from .samples import GIT_DIFF, call


def plain(**fields):
    return render(call(**fields), "/project")["text/plain"]


def html(**fields):
    return render(call(**fields), "/project")["text/html"]


@pytest.mark.parametrize(("fields", "words"), [
    ({}, "○ other · pending"),
    ({"title": "Look", "status": "waiting"}, "◌ Look · waiting for your answer"),
    ({"title": "Look", "status": "completed"}, "✓ Look"),
    ({"title": "Look", "status": "cancelled"}, "■ Look · cancelled"),
    ({"title": "Look", "status": "paused"}, "• Look · paused"),
    ({"title": "Look", "status": "completed", "decision": "allowed by you"}, "✓ Look · allowed by you"),
    ({"title": "Look", "status": "rejected", "decision": "denied by you"}, "⊘ Look · denied by you"),
    ({"title": "two\nlines"}, "○ two lines · pending"),
])  # fmt: skip
def test_the_first_line_says_what_and_how_it_went(fields, words):
    assert plain(**fields) == words


def test_a_call_that_ran_without_asking_says_so_in_words_and_in_amber():
    bundle = render(call(title="Look", status="completed", unasked=Unasked("not asked")))
    assert bundle["text/plain"] == "✓ Look · ⚠ not asked"
    assert f'color:{AMBER}">⚠ not asked</span>' in bundle["text/html"]
    assert f"border-left-color:{AMBER}" in bundle["text/html"]


def test_the_rule_that_decided_is_code():
    bundle = render(call(title="Look", status="completed", decision="allowed by rule `Bash(<ls>)`"))
    assert bundle["text/plain"] == "✓ Look · allowed by rule “Bash(<ls>)”"
    assert ("Bash(&lt;ls&gt;)</code>" in bundle["text/html"], "`" in bundle["text/html"]) == (True, False)


def test_a_call_that_the_user_had_allowed_before_is_not_accused():
    words = "covered by the rule <Edit>"
    bundle = render(call(title="Look", status="completed", unasked=Unasked(words, covered=True)))
    assert bundle["text/plain"] == f"✓ Look · {words}"
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
    parts = plain(title="Run", raw_input=raw_input).replace("○ ", "").replace(" · ", "\n").split("\n")
    assert [part.strip() for part in parts if "$" in part] == commands


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
    assert plain(title="Run", status="completed", raw_output=raw_output).split("\n")[0] == "✓ Run"


@pytest.mark.parametrize(("fields", "output"), [
    ({"raw_output": {"content": "one\ntwo\n"}}, "  one\n  two"),
    ({"raw_output": {"stdout": "one\n", "stderr": "two"}}, "  one\n  two"),
    ({"raw_output": {"content": [{"type": "text", "text": "one"}]}}, "  one"),
    ({"raw_output": {"rows": [1]}}, '  {\n    "rows": [\n      1\n    ]\n  }'),
    ({"content": (TerminalContent("t"),), "meta": {"terminal_output": {"data": "one", "terminal_id": "t"}}}, "  one"),
    ({"content": (TerminalContent("t"),)}, "  (terminal t: no output was sent)"),
    ({"content": (TextBlock("\x1b[32mone\x1b[0m\rtwo"),)}, "  two"),
    ({"content": (TextBlock("```\none\n```\nand\n```\ntwo\n```"),)}, "  ```\n  one\n  ```\n  and\n  ```\n  two\n  ```"),
])  # fmt: skip
def test_output_is_found_where_agents_put_it(fields, output):
    assert plain(title="Run", status="failed", **fields) == f"✗ Run · failed\n{output}"
    assert plain(title="Run", status="completed", **fields) == "✓ Run"


def test_a_failure_shows_its_reason_beside_what_was_said_before():
    shown = plain(title="Run", status="failed", content=(TextBlock("began"),), raw_output={"message": "no such file"})
    assert shown == "✗ Run · failed\n  began\n  no such file"
    done = call(title="Run", status="completed", content=(TextBlock("one"),), raw_output={"content": "one more"})
    assert output_of(done) == "one"


def test_what_went_well_is_one_line_that_opens():
    shown = html(title="Run", kind="execute", status="completed", content=(TextBlock("one\ntwo"),))
    assert text_of(shown.partition("<details>")[2]) == "❯ Runone\ntwo"
    assert "<details" not in html(title="Run", status="completed")


@pytest.mark.parametrize("status", ["failed", "in_progress"])
def test_what_failed_or_still_runs_is_open_with_the_end_of_its_output(status):
    twelve, thirteen = ("\n".join(map(str, range(count))) for count in (12, 13))
    short = html(title="Run", status=status, content=(TextBlock(twelve),))
    assert (short.count("<details"), text_of(short.partition("</summary>")[2])) == (1, twelve)
    opened, _, folded = html(title="Run", status=status, content=(TextBlock(thirteen),)).partition("<details>")
    assert ("<details open>" in opened, text_of(folded)) == (True, f"output 13 lines{thirteen}8\n9\n10\n11\n12")


LINES = "".join(f"\x1b[32mline {number}\x1b[0m\n" for number in range(5_000))
RUNS = {"terminal_output": {"data": LINES}, "terminal_exit": None}


@pytest.mark.parametrize("fields", [
    {"status": "pending", "content": (TextBlock(LINES),)},
    {"status": "in_progress", "meta": RUNS},
    {"status": "completed", "meta": RUNS},
    {"status": "cancelled", "meta": RUNS},
])  # fmt: skip
def test_of_output_that_grows_only_the_end_is_drawn(fields):
    head, first, *_, last = text_of(html(title="Run", **fields)).split("\n")
    before = LINES.index(f"\x1b[32m{first}\x1b")
    assert (head.endswith(f"… {before:,} characters not shown …"), last) == (True, "line 4999")
    assert MAX_GROWING_CHARS - len(LINES.split("\n")[-2]) <= len(LINES) - before <= MAX_GROWING_CHARS


@pytest.mark.parametrize("fields", [
    {"status": "cancelled", "content": (TextBlock(LINES),)},
    {"status": "cancelled", "meta": RUNS | {"terminal_exit": {"signal": "SIGKILL"}}},
])  # fmt: skip
def test_output_that_no_longer_grows_is_drawn_whole(fields):
    shown = text_of(html(title="Run", **fields))
    assert ("not shown" in shown, "line 0\nline 1\n" in shown, "line 2500\n" in shown) == (False, True, True)


@pytest.mark.parametrize(("lines", "scrolls"), [(12, False), (13, True)])
def test_a_long_output_scrolls_where_it_is_unfolded_by_keyboard_too(lines, scrolls):
    shown = html(title="Run", status="completed", content=(TextBlock("x\n" * lines),))
    region = 'max-height:24em" tabindex="0" role="region" aria-label="output">'
    assert (region in shown, "max-height" in shown) == (scrolls, scrolls)


def test_a_change_of_the_file_in_the_title_needs_no_line_of_its_own():
    shown = html(title="Edit a.py", kind="edit", status="completed", content=(Diff("/project/a.py", "x\n", "y\n"),))
    assert text_of(shown.partition("</summary>")[0]) == "✎ Edit a.py +1 −1"


def test_a_unified_diff_that_says_the_same_has_the_numbers_of_the_file():
    raw_input = {"fileName": "/project/notes.txt", "diff": GIT_DIFF}
    diff = (Diff("/project/notes.txt", "two", "TWO"),)
    shown = plain(title="Edit", kind="edit", status="failed", raw_input=raw_input, content=diff)
    assert shown == (
        "✗ notes.txt · +1 −1 · failed\n"
        "  --- notes.txt\n  +++ notes.txt\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +TWO\n   three"
    )


def test_a_unified_diff_that_comes_with_the_result_does_not_change_what_the_question_showed():
    diff = Diff("/project/notes.txt", "two", "TWO")
    fields = {"title": "Edit", "kind": "edit", "status": "failed", "content": (diff,)}
    fields["raw_output"] = {"detailedContent": GIT_DIFF}
    assert "@@ -1,3 +1,3 @@" in plain(**fields)
    assert "@@ -8 +8 @@\n  -two\n  +TWO" in plain(**fields, excerpts={diff: Excerpt(8, "", "\n")})


def test_a_unified_diff_that_says_something_else_does_not_replace_the_change():
    raw_input = {"fileName": "/project/notes.txt", "diff": GIT_DIFF}
    diff = (Diff("/project/notes.txt", "a\n", "b\n"),)
    shown = plain(title="Edit", kind="edit", status="failed", raw_input=raw_input, content=diff)
    assert "  -a\n  +b" in shown


def test_what_a_tool_was_given_is_folded_json():
    shown = html(title="Search", name="search", raw_input={"query": "<x>"})
    assert text_of(shown.partition("</summary>")[2]) == 'input{\n  "query": "<x>"\n}'


def test_what_is_said_already_is_not_said_again():
    raw_input = {"command": "ls", "description": "List it", "path": "/project/a", "nothing": None}
    assert plain(title="List it", raw_input=raw_input) == "○ $ ls · List it · a · pending"


def test_a_very_long_title_is_folded():
    shown = html(title="word " * 100)
    assert shown.count("word") == 28 + 100
    assert "whole title" in shown


def test_as_text_an_action_of_a_sub_agent_says_that_it_belongs_to_a_task():
    meta = {"github.com/copilot": {"agentId": "a"}}
    failed = call(title="Look", kind="read", status="failed", content=(TextBlock("one\ntwo"),), meta=meta)
    assert render(failed)["text/plain"] == "  ↳ ✗ Look · failed\n    one\n    two"


def test_an_action_of_a_sub_agent_is_indented_and_no_part_of_a_group():
    of_task = call(title="Look", kind="read", status="completed", meta={"github.com/copilot": {"agentId": "a"}})
    assert (INDENT in render(of_task)["text/html"], is_lookup(of_task)) == (True, False)
    own = call(title="Look", kind="read", status="completed", meta={"github.com/copilot": []})
    assert (INDENT in render(own)["text/html"], is_lookup(own)) == (False, True)


def test_a_command_has_one_mark_and_a_tool_of_a_server_is_named_in_words():
    command = call(title="ls -l", kind="execute", raw_input={"command": "ls -l"})
    assert "❯" in render(command)["text/html"]
    assert "$" not in text_of(render(command)["text/html"])
    tool = call(title="mcp__lab__echo", name="mcp__lab__echo")
    assert render(tool)["text/plain"].startswith("○ lab · echo")
    tool = call(title="Say it", meta={"toolName": "mcp__lab__echo"}, raw_input={"command": "ls"})
    assert render(tool)["text/plain"].startswith("○ lab · echo · Say it")
