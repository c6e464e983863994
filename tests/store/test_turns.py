"""Turns out of logs: the recording of a real session, and what the recording does not hold."""

from pathlib import Path

import pytest
from copilot_kernel.acp.messages import ResourceLink
from copilot_kernel.conversation.model import Attachment
from copilot_kernel.store.turns import LINE_DAMAGED, REWOUND, turns

from .writing import answered, asked, line, shown, write

RECORDING = Path(__file__).with_name("data") / "events.jsonl"

PICTURE = "[{0}] /home/user/tmp/{0}".format("acp-resource-3a786103000343e9bc1ab4ee4768db51.png")
EDIT = [
    "I read.",
    "✓ Viewing file · /project/notes.txt\n  one\n  two\n  three",
    "✓ /project/notes.txt · +1 −1 · allowed by you\n  --- /project/notes.txt\n  +++ /project/notes.txt\n"
    "  @@ -1,4 +1,4 @@\n   one\n  -two\n  +TWO\n   three\n   \n  File /project/notes.txt updated with changes.",
    "Changed.",
]
SHELL = ["✗ $ echo counted; exit 3 · Run a command · exit 3 · allowed by you\n  counted", "It ended."]
REJECTED = [
    "⊘ /project/notes.txt · +1 −1 · denied by you\n"
    "  --- /project/notes.txt\n  +++ /project/notes.txt\n  @@ … @@\n  -three\n  +THREE"
    "\n  The user rejected this tool call."
]


def test_a_recorded_session_reads_as_it_was():
    found = [*turns(RECORDING)]
    assert shown(found[0]) == ["Thinking:\n  I look at the question first.", "There are **three lines** of notes."]
    assert [shown(turns) for turns in (found[1], *found[3:6])] == [
        EDIT, SHELL, REJECTED, [PICTURE, "A red dot."],
    ]  # fmt: skip
    assert [shown(turns) for turns in found[8:]] == [["✗ error: 400 refused by the script"], [], ["I am here again."]]
    assert [turns.stop_reason for turns in found] == ["end_turn"] * 9 + ["cancelled", "end_turn"]
    assert [turns.state.mode for turns in found] == [None] * 6 + ["plan"] * 5
    assert [turns.conversation.turn for turns in found] == [*range(1, 12)]
    same = {(turns.state.model, turns.state.id, turns.time) for turns in found}
    assert same == {("scripted", "00000000-0000-4000-8000-000000000001", "2026-01-01T00:00:00.000Z")}


def test_a_sub_agent_s_words_are_thoughts_and_what_it_did_stands_beside_them():
    handed, task, *own, done = shown([*turns(RECORDING)][7])
    assert (handed, done) == ("I hand it over.", "It is done.")
    assert task.startswith("✓ Look at the notes\n")
    assert task.endswith("\n  Three lines.")
    assert own == [
        "Thinking:\n  I look.",
        "  ↳ ✓ Viewing file · /project/notes.txt\n    one\n    TWO\n    three",
        "Thinking:\n  Three lines.",
    ]


def test_what_the_program_says_for_the_user_is_no_prompt(tmp_path):
    log = [
        asked("go"),
        asked("skill text", source="skill-pdf"),
        asked("go on", isAutopilotContinuation=True),
        line(9, asked("to the sub-agent"), agentId="a"),
        answered("Done."),
        asked("typed while it ran", delivery="steering", source="user"),
    ]
    found = [(turns.prompt, shown(turns)) for turns in turns(write(tmp_path / "log", log))]
    assert found == [("go", ["Done."]), ("typed while it ran", [])]


def test_a_turn_has_the_mode_and_model_that_it_began_with(tmp_path):
    log = [
        ("session.start", {"sessionId": "s", "selectedModel": "one"}), ("session.mode_changed", {"newMode": "plan"}),
        asked("a"), ("session.mode_changed", {"newMode": "interactive"}),
        ("session.model_change", {"newModel": "two"}), asked("b"),
    ]  # fmt: skip
    found = [(turns.state.id, turns.state.model, turns.state.mode) for turns in turns(write(tmp_path / "log", log))]
    assert found == [("s", "one", "plan"), ("s", "two", "agent")]


def test_a_sub_agent_s_calls_are_not_mistaken_for_those_of_the_same_id(tmp_path):
    def call(output, **more):
        done = {"toolCallId": "c", "success": True, "result": {"content": output}}
        start = line(0, ("tool.execution_start", {"toolCallId": "c", "toolName": output}), **more)
        return [start, line(0, ("tool.execution_complete", done), **more)]

    log = [asked("go"), *call("one"), *call("two", agentId="a"), *call("three", agentId="b")]
    [found] = turns(write(tmp_path / "log", log))
    assert shown(found) == ["✓ one\n  one", "  ↳ ✓ two\n    two", "  ↳ ✓ three\n    three"]


def test_what_comes_before_the_first_prompt_is_left_out(tmp_path):
    log = [("session.warning", {"message": "old"}), asked("go"), answered("Yes.")]
    [found] = turns(write(tmp_path / "log", log))
    assert [type(entry).__name__ for entry in found.conversation.entries] == ["Message", "Message"]


def test_what_the_user_sent_along_is_named(tmp_path):
    raw = [
        {"type": "file", "path": "/tmp/a.png", "assetId": "sha", "mimeType": "image/png"},
        {"type": "blob", "data": "AAAA", "mimeType": "image/gif"},
        {"type": "file", "path": "/p/x.py", "displayName": "x.py"},
        {"type": "selection", "filePath": "/p/y.py", "displayName": "y.py", "text": "a = 1"},
        {"type": "github_reference", "url": "https://github.com/o/r/pull/1", "title": "A change"},
        "nonsense",
    ]
    [found] = turns(write(tmp_path / "log", [asked("look", attachments=raw)]))
    assert [entry.block for entry in found.conversation.entries if isinstance(entry, Attachment)] == [
        ResourceLink("/tmp/a.png", "/tmp/a.png"),
        ResourceLink("", "blob"),
        ResourceLink("/p/x.py", "x.py"),
        ResourceLink("/p/y.py", "y.py"),
        ResourceLink("https://github.com/o/r/pull/1", "A change"),
    ]


# -- each kind of event ---------------------------------------------------------------------------------------------


def entries(tmp_path, *events):
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
        "✓ $ ls · List\n  a"),
    "an exit code apart": ([start("bash", command="x"), end("no", shellExecution={"exitCode": 2})],
        "✗ $ x · exit 2\n  no"),
    "an edit with its line numbers": ([start("edit", path="x", old_str="old", new_str="new"),
        end("ok", result={"content": "ok", "detailedContent": DIFF})],
        "✓ edit x · +1 −1\n  --- x\n  +++ x\n  @@ -7 +7 @@\n  -old\n  +new\n  ok"),
    "a new file": ([start("create", path="n", file_text="a\nb\n"), end("ok")],
        "✓ create n · +2\n  (new file, +2)\n  --- /dev/null\n  +++ n\n  @@ -0,0 +1,2 @@\n  +a\n  +b\n  ok"),
    "an MCP tool": ([("tool.execution_start", {"toolCallId": "c", "toolName": "gh-list", "mcpServerName": "gh",
        "mcpToolName": "list", "toolTitle": "List issues"}), end("[]")], "✓ List issues\n  []"),
    "a failure": ([start("web_fetch", url="u"), failed("no network")],
        '✗ web_fetch · failed\n  {\n    "url": "u"\n  }\n  no network'),
    "a refusal": ([start("bash", command="rm x"), failed("The user rejected it.", "rejected")],
        "⊘ $ rm x · denied\n  The user rejected it."),
    "a tool that the user called": ([("tool.user_requested", {"toolCallId": "c", "toolName": "bash",
        "arguments": {"command": "pwd"}}), end("/p")], "✓ $ pwd\n  /p"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_call_reads_as_it_did(tmp_path, name):
    events, expected = TOOLS[name]
    assert entries(tmp_path, *events) == [expected]


def answer(kind, source="human_response"):
    return "permission.completed", {
        "requestId": "r",
        "toolCallId": "c",
        "result": {"kind": kind},
        "decisionSource": source,
    }


@pytest.mark.parametrize(("decision", "ended", "line"), [
    (answer("approved"), end("a"), "✓ $ ls · allowed by you"),
    (answer("approved-for-session"), end("a"), "✓ $ ls · allowed by you, from then on"),
    (answer("approved", "host_policy"), end("a"), "✓ $ ls · allowed by a rule"),
    (answer("denied-interactively-by-user"), failed("no", "rejected"), "⊘ $ ls · denied by you"),
    (answer("denied-by-rules", ""), failed("no", "denied"), "⊘ $ ls · denied"),
    (answer("cancelled", ""), failed("no"), "■ $ ls · not run"),
    (answer("something-new"), end("a"), "✓ $ ls"),
])  # fmt: skip
def test_a_decision_stands_beside_its_call(tmp_path, decision, ended, line):
    [text] = entries(tmp_path, start("bash", command="ls"), decision, ended)
    assert text.partition("\n")[0] == line


NOTICES = {
    "an error": (("session.error", {"message": "quota", "errorType": "quota"}), ["✗ error: quota"]),
    "a warning": (("session.warning", {"message": "soon", "url": "https://x"}), ["⚠ warning: soon\nhttps://x"]),
    "a rewind": (("session.snapshot_rewind", {"upToEventId": "e1"}), [f"ℹ {REWOUND}"]),
    "a damaged line": (b"no JSON\n", [f"⚠ warning: {LINE_DAMAGED}"]),
    "a word": (("session.info", {"message": "MCP ready", "infoType": "mcp"}), []),
    "a delta of a tool's input": (("assistant.tool_call_delta", {"inputDelta": "x"}), []),
    "a system prompt": (("system.message", {"content": "You are"}), []),
    "a title": (("session.title_changed", {"title": "New"}), []),
    "a pair of brackets": (("assistant.turn_end", {}), []),
    "a session's kind of tomorrow": (("session.dreamt", {"of": "sheep"}), []),
    "an error without words": (("session.error", {}), []),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTICES)
def test_what_else_happened_is_shown_if_it_matters(tmp_path, name):
    event, expected = NOTICES[name]
    assert entries(tmp_path, event) == expected


def test_a_thought_is_logged_with_its_message(tmp_path):
    assert entries(tmp_path, answered("Yes.", reasoningText="Hm.")) == ["Thinking:\n  Hm.", "Yes."]


@pytest.mark.parametrize(
    "data", [{}, {"messageId": 7, "content": 8}, {"toolCallId": [], "arguments": 3}, {"result": "x"}]
)
@pytest.mark.parametrize("kind", [
    "user.message", "assistant.message", "assistant.message_delta", "assistant.reasoning", "tool.execution_start",
    "tool.execution_complete", "permission.completed", "session.start", "session.error",
    "session.mode_changed", "session.model_change", "session.import_legacy", "session.snapshot_rewind", "abort",
    "skill.invoked",
])  # fmt: skip
def test_no_event_is_too_strange(tmp_path, kind, data):
    path = write(tmp_path / "log", [(kind, data), asked("go"), (kind, data), asked("on"), answered("Yes.")])
    assert shown([*turns(path)][-1]) == ["Yes."]
