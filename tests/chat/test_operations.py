"""Files and commands that we do for the demo agent: each is permitted once, shown, and done as it was shown."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import Chat
from copilot_kernel.conversation.model import Entry, ToolCall
from copilot_kernel.errors import AgentRefused

from ..acp.scripted import OPTIONS, Script
from ..limits import until
from ..processes import children
from .conftest import Open, chatting
from .loopback import met
from .people import LIMIT, Person, ask, cancelled

Json = dict[str, Any]
EVERYTHING = {"fs": True, "terminal": True, "permission_mode": "bypassPermissions"}


def ours(person: Person) -> list[tuple[str, str, str]]:
    """Of what we did: title, status and decision."""
    calls = person.of(ToolCall)
    return [(each.title, each.status, each.decision) for each in calls if each.call_id.startswith("copilot-kernel-")]


async def test_without_the_settings_nothing_is_offered(chat: Chat) -> None:
    assert "does not offer" in (await ask(chat, "demo: fswrite note.txt hi")).text
    assert "does not offer" in (await ask(chat, "demo: terminal echo hi")).text


# -- files --------------------------------------------------------------------------------------------------------


@chatting(fs=True)
async def test_what_is_inside_the_folder_is_read_without_a_question_and_nothing_else(chat: Chat, project: Path) -> None:
    (project / "note.txt").write_text("one\ntwo\nthree\n")
    (project.parent / "outside.txt").write_text("secret")
    turn = await ask(chat, "demo: fsread note.txt 2 1", person := Person())
    assert turn.text.strip() == repr("two\n")
    for path in ("../outside.txt", "missing.txt"):
        text = (await ask(chat, f"demo: fsread {path}", person)).text
        assert ("secret" in text, "failed" in text, person.questions) == (False, True, [])


@chatting(**EVERYTHING)
async def test_in_the_mode_plan_of_the_agent_nothing_is_done_and_nobody_is_asked(chat: Chat, project: Path) -> None:
    await chat.options.set_mode("plan")
    for prompt in ("demo: fswrite note.txt new", "demo: terminal touch note.txt"):
        turn = await ask(chat, prompt, person := Person())
        assert ("the mode is plan" in turn.text, person.questions, list(project.iterdir())) == (True, [], [])


@chatting(fs=True)
@pytest.mark.parametrize(("kind", "text"), [("allow_once", "new"), ("reject_once", "old")])
async def test_a_write_is_asked_about_with_its_diff(chat: Chat, project: Path, kind: str, text: str) -> None:
    (project / "note.txt").write_text("old")
    await ask(chat, "demo: fswrite note.txt new", person := Person(kind))
    assert [question.call.content for question in person.questions] == [
        (Diff(str(project / "note.txt"), "old", "new"),)
    ]
    (done,) = ours(person)
    assert (done[:2], (project / "note.txt").read_text()) == (
        ("Write note.txt", "completed" if text == "new" else "rejected"),
        text,
    )


@chatting(fs=True)
async def test_one_permission_is_for_one_write(chat: Chat, project: Path) -> None:
    await ask(chat, "demo: fswrite-asked note.txt new", person := Person())
    assert ((project / "note.txt").read_text(), len(person.questions), ours(person)) == ("new", 1, [])
    (project / "note.txt").unlink()
    await ask(chat, "demo: fswrite-asked note.txt one\nfswrite note.txt one", person)
    assert len(person.questions) == 3


@chatting(fs=True, allow=("Edit", "Read"))
async def test_no_rule_allows_what_runs_by_itself(chat: Chat, project: Path) -> None:
    await ask(chat, "demo: fswrite .envrc new\nfsread .envrc", person := Person())
    assert [question.call.title for question in person.questions] == [
        "Write .envrc, which may hold secrets",
        "Read .envrc, which may hold secrets",
    ]


async def test_git_and_our_own_settings_are_never_written(opened: Open, project: Path) -> None:
    async with opened(fs=True, permission_mode="bypassPermissions", state=str(project / "state")) as chat:
        for path in (".git/config", "copilot_kernel.json", "state/x"):
            assert "may not write" in (await ask(chat, f"demo: fswrite {path} x")).text
    assert [path for path in project.rglob("*") if path.is_file()] == []


# -- one that shows something and does something else ---------------------------------------------------------------


async def request(script: Script, method: str, params: Json) -> object:
    """The result, or the code of the error."""
    try:
        return await script.connection.request(method, params)
    except AgentRefused as error:
        return error.code


def edit(project: Path, text: str = "harmless", kind: str = "edit") -> Json:
    change = {"type": "diff", "path": str(project / "note.txt"), "oldText": None, "newText": text}
    return {"toolCallId": "t", "title": "Harmless", "kind": kind, "content": [change]}


async def questions(opened: Open, shown: Json, method: str, does: Json, later: Json | None = None) -> int:
    """How often it is asked about an act of the agent before which something was shown and allowed."""

    async def prompt(script: Script, params: Json) -> None:
        await script.ask(sessionId="s1", toolCall=shown, options=OPTIONS)
        if later:
            await script.update({"sessionUpdate": "tool_call_update", **later})
        await request(script, method, {"sessionId": "s1", **does})

    async with met(opened, {"fs": True, "terminal": True}, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", person := Person())
    return len(person.questions)


@pytest.mark.parametrize(
    ("kind", "path", "content", "later", "count"),
    [
        ("edit", "note.txt", "harmless", "", 1),
        ("edit", "note.txt", "harmful", "", 2),
        ("edit", "other.txt", "harmless", "", 2),
        ("read", "note.txt", "harmless", "", 2),
        ("edit", "note.txt", "harmful", "harmful", 2),
    ],
    ids=["what it said", "other content", "another file", "another kind", "changed after it was allowed"],
)
async def test_a_permission_is_for_the_write_it_showed(
    opened: Open, project: Path, kind: str, path: str, content: str, later: str, count: int
) -> None:
    does = {"path": str(project / path), "content": content}
    change = edit(project, later) if later else None
    assert await questions(opened, edit(project, kind=kind), "fs/write_text_file", does, change) == count


@pytest.mark.parametrize(
    ("does", "count"),
    [
        ({"command": "echo", "args": ["hi"]}, 1),
        ({"command": "/bin/sh", "args": ["-c", "echo hi"]}, 1),
        ({"command": "echo hi"}, 1),
        ({"command": "echo", "args": ["ho"]}, 2),
        ({"command": "echo", "args": ["hi"], "env": [{"name": "PATH", "value": "/evil"}]}, 2),
        ({"command": "echo", "args": ["hi"], "cwd": "/"}, 2),
    ],
)
async def test_a_permission_is_for_the_command_it_showed(opened: Open, does: Json, count: int) -> None:
    shown = {"toolCallId": "t", "title": "Harmless", "kind": "execute", "rawInput": {"command": "echo hi"}}
    assert await questions(opened, shown, "terminal/create", does) == count


async def test_nothing_is_done_when_no_turn_runs(opened: Open, project: Path) -> None:
    async with met(opened, EVERYTHING) as (script, chat):
        await ask(chat, "hello")
        does = {"sessionId": "s1", "path": str(project / "note.txt"), "content": "late"}
        with anyio.fail_after(LIMIT), pytest.raises(AgentRefused, match="no turn is running"):
            await script.connection.request("fs/write_text_file", does)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("session", ["s2", "", ["s1"]])
async def test_no_request_is_served_for_another_session(opened: Open, project: Path, session: object) -> None:
    (project / "note.txt").write_text("old")
    codes: dict[str, object] = {}

    async def prompt(script: Script, params: Json) -> None:
        made: Any = await request(script, "terminal/create", {"sessionId": "s1", "command": "sleep", "args": ["60"]})
        does = {**made, "path": str(project / "note.txt"), "content": "new", "command": "touch", "args": ["ran"]}
        for method in (
            *("fs/read_text_file", "fs/write_text_file", "terminal/create"),
            *("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"),
        ):
            codes[method] = await request(script, method, {"sessionId": session, **does})
        output = await request(script, "terminal/output", {"sessionId": "s1", **made})
        assert output == {"output": "", "truncated": False}

    async with met(opened, EVERYTHING, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", Person())
    assert list(codes.values()) == [-32602] * 7
    assert [(path.name, path.read_text()) for path in project.iterdir()] == [("note.txt", "old")]


async def test_a_request_that_names_no_session_is_about_the_only_one(opened: Open, project: Path) -> None:
    (project / "note.txt").write_text("text")
    async with met(opened, {"fs": True}) as (script, chat):
        await ask(chat, "hello")
        for absent in ({}, {"sessionId": None}):
            answer = await request(script, "fs/read_text_file", {"path": str(project / "note.txt"), **absent})
            assert answer == {"content": "text"}


async def test_a_request_is_served_for_the_session_that_is_being_opened(opened: Open, project: Path) -> None:
    """An agent may use the id of a new session before it has told us."""
    (project / "note.txt").write_text("text")
    answers: list[object] = []

    async def new(script: Script, params: Json) -> object:
        for method in ("fs/read_text_file", "terminal/create"):
            does = {"sessionId": "s1", "path": str(project / "note.txt"), "command": "true"}
            answers.append(await request(script, method, does))
        return {"sessionId": "s1"}

    async with met(opened, EVERYTHING, session_new=new) as (_, chat):
        await ask(chat, "hello")
    assert (answers[0], isinstance(answers[1], dict)) == ({"content": "text"}, True)


async def test_a_wrong_type_is_refused(opened: Open, project: Path) -> None:
    (project / "note.txt").write_text("one\ntwo\n")
    read = {"line": (["2", 1.5], [2, 2.0, None]), "limit": ([True, 0.5], [1]), "path": ([7], [])}
    run = {
        "outputByteLimit": ([-1, "2", True], [2.0]),
        "args": ([[1]], [[], None]),
        "env": (["x"], []),
        "command": ([None], []),
    }
    refused: list[object] = []

    async def prompt(script: Script, params: Json) -> None:
        does = {"path": str(project / "note.txt"), "command": "true", "sessionId": "s1"}
        for method, members in (("fs/read_text_file", read), ("terminal/create", run)):
            for name, (wrongs, rights) in members.items():
                refused.extend([await request(script, method, {**does, name: wrong}) for wrong in wrongs])
                for right in rights:
                    assert isinstance(await request(script, method, {**does, name: right}), dict)

    async with met(opened, EVERYTHING, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", Person())
    assert refused == [-32602] * 11


# -- terminals ----------------------------------------------------------------------------------------------------


@chatting(terminal=True)
async def test_a_command_is_asked_about_as_it_really_runs_and_shown_with_its_output(chat: Chat) -> None:
    turn = await ask(chat, "demo: terminal echo hi; exit 3", person := Person())
    line = "DEMO_AGENT=1 /bin/sh -c 'echo hi; exit 3'"
    assert [question.call.raw_input["command"] for question in person.questions] == [line]
    (done,) = [e for e in person.of(ToolCall) if e.call_id.startswith("copilot-kernel-")]
    assert (done.title, done.status) == (f"Run {line}", "failed")
    assert done.meta["terminal_output"]["data"] == "hi\n"
    assert done.meta["terminal_exit"] == {"exit_code": 3, "signal": None}
    assert "'hi\\n'" in turn.text


@chatting(terminal=True, permission_mode="bypassPermissions")
async def test_a_cancel_ends_the_command(chat: Chat) -> None:
    person = TerminalViewer()
    turn = await cancelled(chat, "demo: terminal echo begun; sleep 60", person, lambda: person.heard)
    assert turn.stop_reason == "cancelled"
    await until(lambda: len(children()) <= len(("agent", "reaper")))


class TerminalViewer(Person):
    """Hears a command."""

    def show(self, entry: Entry) -> None:
        super().show(entry)
        if isinstance(entry, ToolCall) and "terminal_output" in entry.meta:
            self.heard.set()


@chatting(terminal=True, permission_mode="bypassPermissions")
async def test_a_command_that_was_left_ends_with_the_agent(chat: Chat) -> None:
    await ask(chat, "demo: terminal-left sleep 60")
    assert len(children()) > len(("agent", "reaper"))
    await chat.restart()
    assert children() == []
