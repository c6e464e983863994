"""What a reader sees of each kind of event."""

from __future__ import annotations

import pytest
from copilot_kernel.store.past import turns

from .writing import answered, asked, shown, write


def told(tmp_path, *events):
    [past] = turns(write(tmp_path / "log", [asked("go"), *events]))
    return shown(past)


def start(tool, **arguments):
    return "tool.execution_start", {"toolCallId": "c", "toolName": tool, "arguments": arguments}


def end(content, **more):
    return "tool.execution_complete", {"toolCallId": "c", "success": True, "result": {"content": content}, **more}


def failed(message, code="failure"):
    return "tool.execution_complete", {"toolCallId": "c", "success": False, "error": {"message": message, "code": code}}


DIFF = "\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -7,1 +7,1 @@\n-old\n+new\n"
TOOLS = {
    "a shell command": ([start("bash", command="ls", description="List"),
        end("a\n<shellId: 0 completed with exit code 0>")],
        "✓ List · done, exit code 0\n  $ ls\n  a"),
    "an exit code apart": ([start("bash", command="x"), end("no", shellExecution={"exitCode": 2})],
        "✗ bash · done with exit code 2\n  $ x\n  no"),
    "an edit with its line numbers": ([start("edit", path="x", old_str="old", new_str="new"),
        end("ok", result={"content": "ok", "detailedContent": DIFF})],
        "✓ Editing x · done\n  --- x\n  +++ x\n  @@ -7 +7 @@\n  -old\n  +new"),
    "a new file": ([start("create", path="n", file_text="a\nb\n"), end("ok")],
        "✓ Creating n · done\n  (new file, +2)\n  --- /dev/null\n  +++ n\n  @@ -0,0 +1,2 @@\n  +a\n  +b"),
    "an edit that only its result tells": ([start("apply_patch", input="*** Begin Patch"),
        end("ok", result={"content": "Patched.", "detailedContent": DIFF})],
        "✓ apply_patch · done\n  --- a file\n  +++ a file\n  @@ -7 +7 @@\n  -old\n  +new\n"
        '  {\n    "input": "*** Begin Patch"\n  }\n  Patched.'),
    "reading": ([start("view", path="/p/x"), end("text")], "✓ Viewing /p/x · done\n  text"),
    "an MCP tool": ([("tool.execution_start", {"toolCallId": "c", "toolName": "gh-list", "mcpServerName": "gh",
        "mcpToolName": "list"}), end("[]")], "✓ gh: list · done\n  []"),
    "a failure": ([start("web_fetch", url="u"), failed("no network")],
        '✗ web_fetch · failed\n  {\n    "url": "u"\n  }\n  no network'),
    "a refusal": ([start("bash", command="rm x"), failed("The user rejected it.", "rejected")],
        "⊘ bash · Rejected\n  $ rm x\n  The user rejected it."),
    "a call without an end": ([start("bash", command="sleep 9")], "■ bash · cancelled\n  $ sleep 9"),
    "progress": ([start("x"), ("tool.execution_progress", {"toolCallId": "c", "progressMessage": "half"})],
        "■ x · cancelled\n  half"),
    "output so far": ([start("bash", command="m"),
        ("tool.execution_partial_result", {"toolCallId": "c", "partialOutput": "1"}),
        ("tool.execution_partial_result", {"toolCallId": "c", "partialOutput": "1\n2"})],
        "■ bash · cancelled\n  $ m\n  1\n  2"),
    "output that became whole": ([start("bash", command="m"),
        ("tool.execution_partial_result", {"toolCallId": "c", "partialOutput": "1"}), end("1\n2")],
        "✓ bash · done\n  $ m\n  1\n  2"),
    "a tool that the user called": ([("tool.user_requested", {"toolCallId": "c", "toolName": "bash",
        "arguments": {"command": "pwd"}}), end("/p")], "✓ bash · done\n  $ pwd\n  /p"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_call_reads_as_it_did(tmp_path, name):
    events, expected = TOOLS[name]
    assert told(tmp_path, *events) == [expected]


def answer(kind, source="human_response"):
    return "permission.completed", {
        "requestId": "r",
        "toolCallId": "c",
        "result": {"kind": kind},
        "decisionSource": source,
    }


@pytest.mark.parametrize(("decision", "ended", "line"), [
    (answer("approved"), end("a"), "✓ bash · done · Allowed (you)"),
    (answer("approved-for-session"), end("a"), "✓ bash · done · Allowed from then on (you)"),
    (answer("approved", "host_policy"), end("a"), "✓ bash · done · Allowed (by a rule)"),
    (answer("denied-interactively-by-user"), failed("no", "rejected"), "⊘ bash · Rejected (you)"),
    (answer("denied-by-rules", ""), failed("no", "denied"), "⊘ bash · Rejected"),
    (answer("cancelled", ""), failed("no"), "■ bash · Cancelled"),
    (answer("something-new"), end("a"), "✓ bash · done"),
])  # fmt: skip
def test_a_decision_stands_beside_its_call(tmp_path, decision, ended, line):
    [said] = told(tmp_path, start("bash", command="ls"), decision, ended)
    assert said.partition("\n")[0] == line


NOTICES = {
    "an error": (("session.error", {"message": "quota", "errorType": "quota"}), ["✗ error: quota"]),
    "a warning": (("session.warning", {"message": "soon", "url": "https://x"}), ["⚠ warning: soon\nhttps://x"]),
    "a word": (("session.info", {"message": "MCP ready", "infoType": "mcp"}), ["ℹ MCP ready"]),
    "who is signed in": (("session.info", {"message": "Signed in as x", "infoType": "authentication"}), []),
    "a plan": (("session.plan_changed", {"operation": "create"}), ["ℹ The plan was written"]),
    "a truncation": (("session.truncation", {"messagesRemovedDuringTruncation": 3}),
        ["ℹ Context truncated\n3 messages left out"]),
    "a clearing": (("session.context_cleared", {}), ["ℹ The agent's memory of the conversation was cleared here"]),
    "a hand-over": (("session.handoff", {"summary": "half done"}), ["ℹ The session was handed over\nhalf done"]),
    "a notification": (
        ("system.notification", {"content": "<x>", "kind": {"type": "shell_completed", "description": "make"}}),
        ["ℹ shell completed: make"]),
    "a sub-agent that failed": (("subagent.failed", {"agentDisplayName": "looker", "error": "lost"}),
        ["⚠ warning: looker failed\nlost"]),
    "a skill": (("skill.invoked", {"name": "pdf", "path": "/s", "content": "x", "description": "Reads PDF files"}),
        ["ℹ Skill: pdf\nReads PDF files"]),
    "a skill that was told before": (("skill.invoked_ref", {"name": "pdf", "contentId": "sha256:0"}), ["ℹ Skill: pdf"]),
    "a skill of a custom agent": (("skill.invoked", {"name": "pdf", "trigger": "context-load"}), []),
    "a skill without a name": (("skill.invoked", {"content": "x"}), []),
    "another folder": (("session.context_changed", {"cwd": "/p", "repository": "a/b", "branch": "main"}),
        ["ℹ Working folder: /p\na/b, branch main"]),
    "a folder without a repository": (("session.context_changed", {"cwd": "/p"}), ["ℹ Working folder: /p"]),
    "a folder that is looked at first": (("session.context_changed", {"cwd": "/p", "pendingGitContext": True}), []),
    "a folder without a path": (("session.context_changed", {"branch": "main"}), []),
    "a title": (("session.title_changed", {"title": "New"}), []),
    "a system prompt": (("system.message", {"content": "You are"}), []),
    "a hook": (("hook.start", {"hookType": "pre"}), []),
    "a pair of brackets": (("assistant.turn_end", {}), []),
    "another pair": (("assistant.turn_retry", {}), []),
    "a delta of a tool's input": (("assistant.tool_call_delta", {"inputDelta": "x"}), []),
    "a session's kind of tomorrow": (("session.dreamt", {"of": "sheep"}), []),
    "an error without words": (("session.error", {}), []),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTICES)
def test_what_else_happened_is_told_if_it_matters(tmp_path, name):
    event, expected = NOTICES[name]
    assert told(tmp_path, event) == expected


def test_a_kind_of_tomorrow_that_belongs_to_what_was_said_is_kept_as_it_came(tmp_path):
    [said] = told(tmp_path, ("assistant.poem", {"verse": "o"}))
    assert said == '• An update “assistant.poem” that this client cannot read\n{\n  "verse": "o"\n}'


def test_a_compaction_is_one_line_with_its_end(tmp_path):
    begun = "session.compaction_start", {"compactionAttemptId": "1"}
    done = "session.compaction_complete", {"compactionAttemptId": "1", "success": True, "summaryContent": "In short."}
    older = [("session.compaction_start", {}), ("session.compaction_complete", {"success": False, "error": "no"})]
    idle = (
        "session.compaction_complete",
        {"success": False, "outcome": "not_applicable", "error": "Nothing to compact."},
    )
    assert told(tmp_path, idle) == ["ℹ Compacting the context was cancelled\nNothing to compact."]
    assert told(tmp_path, begun, done) == ["ℹ Context compacted\nIn short."]
    assert told(tmp_path, *older) == ["✗ error: The context could not be compacted\nno"]


def test_deltas_and_the_whole_message_are_shown_once(tmp_path):
    deltas = [("assistant.message_delta", {"messageId": "m", "deltaContent": part}) for part in ("Hel", "lo")]
    assert told(tmp_path, *deltas, answered("Hello", "m"), answered("Bye", "n")) == ["Hello", "Bye"]


def test_deltas_of_a_message_that_never_became_whole_are_shown(tmp_path):
    deltas = [("assistant.message_delta", {"messageId": "m", "deltaContent": part}) for part in ("Hal", "f")]
    assert told(tmp_path, answered("First"), *deltas, ("abort", {"reason": "user_initiated"})) == ["First", "Half"]


def test_a_thought_that_is_told_twice_is_shown_once(tmp_path):
    events = ("assistant.reasoning", {"reasoningId": "r", "content": "Hm."}), answered("Yes.", reasoningText="Hm.")
    assert told(tmp_path, *events) == ["Thinking:\n  Hm.", "Yes."]
    assert told(tmp_path, answered("Yes.", reasoningText="Hm.")) == ["Thinking:\n  Hm.", "Yes."]


@pytest.mark.parametrize(
    "data", [{}, {"messageId": 7, "content": 8}, {"toolCallId": [], "arguments": 3}, {"result": "x"}]
)
@pytest.mark.parametrize("kind", [
    "user.message", "assistant.message", "assistant.message_delta", "assistant.reasoning", "tool.execution_start",
    "tool.execution_progress", "tool.execution_complete", "permission.completed", "session.start", "session.error",
    "session.mode_changed", "session.model_change", "session.import_legacy", "session.binary_asset", "abort",
    "skill.invoked", "session.context_changed", "session.title_changed",
    "session.compaction_complete", "system.notification", "session.snapshot_rewind", "session.truncation",
])  # fmt: skip
def test_no_event_is_too_strange(tmp_path, kind, data):
    path = write(tmp_path / "log", [(kind, data), asked("go"), (kind, data), asked("on"), answered("Yes.")])
    assert shown([*turns(path)][-1]) == ["Yes."]
