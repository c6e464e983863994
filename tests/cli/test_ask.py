"""`copilot-kernel ask`, with the demo agent on a real pipe; at a terminal and with signals as a program of its own."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pexpect
import psutil
import pytest
from copilot_kernel.chat.slash import AS_TEXT
from copilot_kernel.cli import ask
from copilot_kernel.cli.terminal import Terminal
from copilot_kernel.config import Settings
from copilot_kernel.permissions.rulebook import NOT_A_RULE

from ..jupyter.terminals import in_terminal
from ..limits import LIMIT
from .conftest import PROGRAM

FOOTER = r"demo agent, scripted · \d+\.\d s\n"
PROMPT = "Answer 1-3, or ? for details: "
SCRIPT = "demo: think Hm.\nsay One,\nunasked echo out\nsay two."


def test_the_answer_alone_goes_to_stdout(program):
    done = program("ask", SCRIPT)
    assert (done.returncode, done.stdout) == (0, "One,\n\ntwo.\n")
    assert re.fullmatch(
        r"Hm\.\n… Run echo out\n✓ Run echo out( · \d\.\d s)? · ⚠ not asked\n"
        rf"⚠ 1 not asked: 1 command · {FOOTER}",
        done.stderr,
    )


def test_the_prompt_can_come_from_stdin(program):
    assert program("ask", "-", stdin="demo: say From a pipe").stdout == "From a pipe\n"


def test_what_comes_from_stdin_is_no_command_of_the_agent(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("/help"))
    assert [ask._prompt(text) for text in ("-", "/help")] == [f"{AS_TEXT}/help", "/help"]


def test_json_is_one_object_and_nothing_else(program):
    done = program("ask", "--json", SCRIPT)
    answer = json.loads(done.stdout)
    session, calls = answer.pop("session_id"), answer.pop("tool_calls")
    assert (done.returncode, done.stderr, answer) == (
        0,
        "",
        {"text": "One,\n\ntwo.", "stop_reason": "end_turn", "unasked": 1},
    )
    assert (bool(session), [(call["title"], call["kind"], call["status"]) for call in calls]) == (
        True,
        [("Run echo out", "execute", "completed")],
    )
    assert {"id", "decision", "unasked", "locations", "raw_input", "raw_output"} <= set(calls[0])


def test_without_a_terminal_a_question_is_rejected_and_says_how_to_allow_it(program, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    done = program("ask", "demo: edit a.txt old => new")
    assert (done.returncode, (tmp_path / "a.txt").read_text()) == (0, "old")
    assert "Denied: Edit" in done.stderr
    assert """set COPILOT_KERNEL_ALLOW='["Edit(./a.txt)"]', or set COPILOT_KERNEL_ALLOW='["Edit"]'""" in done.stderr


def test_rules_that_match_nothing_or_mean_everything_are_reported_and_not_obeyed(program):
    done = program("ask", "demo: say hi", COPILOT_KERNEL_ALLOW='["Foo", "Bash(python *)"]')
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert f"copilot-kernel: allow: {NOT_A_RULE.format('Foo')}" in done.stderr
    assert "copilot-kernel: allow: Bash(python *): `python` can run any program" in done.stderr


@pytest.mark.parametrize(("arguments", "code", "kind", "complaint"), [
    (("--agent", "no-such-agent", "hi"), 1, "AgentNotFound", "The agent's program no-such-agent"),
    (("demo: error -32603 No such luck",), 1, "AgentRefused", "No such luck"),
    (("demo: die 3",), 1, "AgentExited", "Copilot stopped: it exited with code 3"),
    (("demo: say Half an ans\nsay Error: 402 Quota exceeded",), 1, "ModelFailed", "402 Quota exceeded"),
    (("--agent", "tcp://nowhere", "hi"), 2, "UsageError", "Invalid address for the agent: tcp://nowhere"),
    ((" ",), 2, "UsageError", "The prompt is empty"),
])  # fmt: skip
def test_a_failure_says_what_happened_and_what_to_do(program, arguments, code, kind, complaint):
    plain, object_ = (
        program("ask", *more, *arguments, COPILOT_KERNEL_DEMO="name=Copilot") for more in ((), ("--json",))
    )
    error = json.loads(object_.stdout)["error"]
    assert (plain.returncode, object_.returncode, error["type"]) == (code, code, kind)
    assert plain.stdout == ("Half an ans\n" if kind == "ModelFailed" else "")
    assert error["message"].startswith(complaint)
    assert plain.stderr == f"copilot-kernel: {error['message']}\n{error['hint']}\n"
    assert error["hint"]


def test_a_failure_comes_after_what_the_turn_changed(program, tmp_path):
    (tmp_path / "a.txt").write_text("old\n")
    prompt = "demo: edit a.txt old => new\nerror -32603 No such luck"
    done = program("ask", prompt, COPILOT_KERNEL_ALLOW='["Edit"]')
    assert done.returncode == 1
    assert re.search(r"\nChanged a\.txt  \+1 −1\ncopilot-kernel: No such luck\n", done.stderr)


def test_another_stop_reason_is_shown_and_is_no_failure(program):
    done = program("ask", "demo: refuse")
    assert done.returncode == 0
    assert re.fullmatch(f"the agent refused to continue · {FOOTER}", done.stderr)


def test_control_characters_and_broken_text_do_not_reach_the_terminal(tmp_path, environ):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a\x1b]0;x\x07b\ud800c"}}
    command = [PROGRAM, "ask", f"demo: raw {json.dumps(chunk)}"]
    ascii_only = environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command, cwd=tmp_path, env=ascii_only, capture_output=True, stdin=subprocess.DEVNULL, timeout=30
    )
    assert (done.returncode, done.stdout, b"\x1b" in done.stderr) == (0, b"ab?c\n", False)


def test_when_the_reader_leaves_the_turn_is_cancelled(tmp_path, environ):
    with subprocess.Popen(
        [PROGRAM, "ask", "demo: slow 100000 0.01"], cwd=tmp_path, env=environ, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(2) == b"1 "
        process.stdout.close()
        assert process.wait(10) == 130


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_a_bare_call_prints_the_help(program, capsys, arguments):
    with pytest.raises(SystemExit) as left:
        program(*arguments)
    out, err = capsys.readouterr()
    assert (left.value.code, out.startswith("usage: copilot-kernel"), err) == (0, True, "")


# -- at a terminal --------------------------------------------------------------------------------------------------


@pytest.fixture
def spawn(tmp_path: Path, environ: dict[str, str]) -> Iterator[object]:
    """Start `ask` in a terminal of its own."""
    with ExitStack() as started:

        def start(*arguments: str) -> pexpect.spawn:
            return started.enter_context(in_terminal((PROGRAM, "ask", *arguments), tmp_path, environ, columns=150))

        yield start


def ended(child: pexpect.spawn) -> tuple[int | None, str]:
    """The exit code and the rest of what was shown."""
    child.expect(pexpect.EOF)
    child.wait()
    return child.exitstatus, child.before.replace("\r\n", "\n")


def answer(child: pexpect.spawn, prompt: str, *typed: str) -> str:
    """Type a line each time that it prompts; what it showed before the last one."""
    for line in typed:
        child.expect_exact(prompt)
        child.sendline(line)
    return child.before.replace("\r\n", "\n")


def test_a_question_shows_what_it_is_about_and_takes_a_number(spawn, tmp_path):
    (tmp_path / "a.txt").write_text("old")
    child = spawn("demo: edit a.txt old => new\nsay Done.")
    _, _, question = answer(child, PROMPT, "?").partition("\n\n")
    assert question == (
        "? Change a.txt? +1 −1\n│ @@ -1 +1 @@\n│ -old\n│ +new\n  1) Allow once\n"
        "  2) Always allow (the agent remembers it)\n  3) Deny (“3 because …” tells the agent why)\n"
    )
    assert "Rules that would each cover it:" in answer(child, PROMPT, "7")
    answer(child, PROMPT, "1")
    code, rest = ended(child)
    assert (code, (tmp_path / "a.txt").read_text()) == (0, "new")
    assert re.search(r"✓ Edit a\.txt( · \d\.\d s)? · allowed by you", rest)


def test_on_a_capable_terminal_the_answer_is_drawn_and_a_status_line_comes_and_goes(spawn, environ):
    environ |= {"TERM": "xterm-256color"}
    del environ["NO_COLOR"]
    child = spawn("demo: say # Title\\n\\nSome **bold**\nwait 0.6\nunasked exit 3")
    code, shown = ended(child)
    assert (code, "\x1b[1;4mTitle\x1b[0m\n" in shown, "Some \x1b[1mbold\x1b[0m\n" in shown) == (0, True, True)
    assert "\r\x1b[K\x1b[?7l\x1b[2m" in shown
    assert "… Run" not in shown
    assert "✗ Run exit 3 · exit 3" in shown


def test_what_was_typed_before_the_question_does_not_answer_it(spawn, tmp_path):
    os.mkfifo(gate := tmp_path / "gate")
    child = spawn("demo: say Ready.\nunasked cat gate\nshell touch made")
    answer(child, "Ready.", "1")
    gate.write_text("")
    answer(child, PROMPT, "3")
    assert (ended(child)[0], (tmp_path / "made").exists()) == (0, False)


def test_two_questions_are_asked_one_after_the_other_and_the_end_of_input_rejects(spawn):
    child = spawn("--json", "demo: ask2")
    first = answer(child, PROMPT, "1")
    child.expect_exact(PROMPT)
    assert (first.count("1) Allow once"), child.before.count("1) Allow once")) == (1, 1)
    child.sendeof()
    code, rest = ended(child)
    first, second = sorted(call["decision"] for call in json.loads(rest.splitlines()[-1])["tool_calls"])
    assert (code, first, second.startswith("denied: ")) == (0, "allowed by you", True)


@pytest.mark.parametrize(("script", "doing"), [
    ("demo: slow 100000 0.02", "2 "),
    ("demo: ask Something", PROMPT),
])  # fmt: skip
def test_ctrl_c_cancels_the_turn_and_leaves_no_process(spawn, script, doing):
    child = spawn(script)
    child.expect_exact(doing)
    family = psutil.Process(child.pid).children(recursive=True)
    child.sendintr()
    code, rest = ended(child)
    assert code == 130
    assert re.search(r"■ Stopped by you after \d+\.\d s\n", rest)
    assert psutil.wait_procs(family, timeout=LIMIT)[1] == []


def test_a_signal_while_the_answer_is_being_shown_cancels(monkeypatch, tmp_path):
    monkeypatch.setattr(Terminal, "finish", lambda self, turn, changes: signal.raise_signal(signal.SIGINT))
    outcome = anyio.run(ask._ask, Settings(agent="demo", cwd=str(tmp_path)), "demo: say All.", True)
    assert (outcome.stop_reason, outcome.text) == ("cancelled", "All.")


# -- forms and addresses at a terminal --------------------------------------------------------------------------------

SCHEMA = {"properties": {"name": {"type": "string", "minLength": 2}, "gift": {"type": "boolean"}}, "required": ["name"]}


def test_what_the_agent_takes_back_says_so_and_the_end_of_input_answers_no_form(spawn, tmp_path):
    child = spawn("demo: elicit-withdrawn go\nelicit form\nwithdraw on")
    for _ in range(2):
        child.expect_exact("1) Answer  2) Decline: ")
        (tmp_path / "go").touch()
    assert ("(the question was withdrawn)" in child.before, "I took my question back." in child.before) == (True, True)
    child.sendeof()
    child.expect_exact(PROMPT)
    assert 'You answered: {"action": "cancel"}' in child.before
    (tmp_path / "on").touch()
    code, rest = ended(child)
    assert (code, "(the question was withdrawn)" in rest) == (0, True)


def test_a_form_is_asked_line_by_line_and_an_address_is_shown(spawn):
    child = spawn(f"demo: elicit form {json.dumps(SCHEMA)}\nelicit url https://example.org/in")
    asked = answer(child, "1) Answer  2) Decline: ", "1")
    assert "The agent asks you: The demo agent wants to know something." in asked
    answer(child, "name (required, at least 2 characters): ", "A")
    answer(child, "Enter at least 2 characters (now 1). name (required, at least 2 characters): ", "Ada")
    answer(child, "gift (y or n): ", "y")
    rest = answer(child, "1) Agree  2) Decline: ", "2")
    assert "https://example.org/in" in rest
    code, last = ended(child)
    assert (code, 'You answered: {"action": "decline"}' in last) == (0, True)
    assert 'You answered: {"action": "accept", "content": {"name": "Ada", "gift": true}}' in rest
    assert "The demo agent wants to know something.: Answered: name: Ada; gift: yes" in rest


def test_without_a_terminal_a_form_is_declined(program):
    done = program("ask", "demo: elicit form")
    assert (done.returncode, done.stdout) == (0, 'You answered: {"action": "decline"}\n')
    assert done.stderr.startswith("The demo agent wants to know something.: Declined (no one could answer)\n")


def test_a_file_that_is_mentioned_goes_along(program, tmp_path):
    (tmp_path / "notes.txt").write_text("one")
    done = program("ask", "demo: echo\nsay about @notes.txt")
    assert f"- resource_link: {(tmp_path / 'notes.txt').as_uri()}, name notes.txt" in done.stdout


@pytest.mark.parametrize(("name", "ways"), [
    ("Copilot", "Sign in, then try again:\nGitHub Copilot CLI\n    copilot login\nGitHub CLI\n    gh auth login\n"),
    ("Other", "Other lists no way to sign in; see its documentation.\n"),
])  # fmt: skip
def test_an_agent_that_names_no_way_to_sign_in(program, name, ways):
    done = program("ask", "hello", COPILOT_KERNEL_DEMO=f"signed-out,auth=none,name={name}")
    assert (done.returncode, done.stderr) == (1, f"copilot-kernel: Authentication required\n{ways}")
