"""Files and commands that we do for the demo agent: each is permitted once, shown, and done as it was shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import Chat
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.errors import AgentRefused

from ..acp.scripted import OPTIONS, Script
from .conftest import Open
from .loopback import met
from .people import LIMIT, Person, ask, cancelled

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def ours(person: Person) -> list[tuple[str, str, str]]:
    """Of what we did: title, status and decision."""
    calls = [entry for entry in person.of(ToolCall) if isinstance(entry, ToolCall)]
    return [(each.title, each.status, each.decision) for each in calls if each.call_id.startswith("copilot-kernel-")]


@pytest.fixture
def project(settings: Settings) -> Path:
    return Path(settings.cwd)


async def test_without_the_settings_nothing_is_offered(opened: Open) -> None:
    async with opened() as chat:
        assert "does not offer" in (await ask(chat, "demo: fswrite note.txt hi")).text
        assert "does not offer" in (await ask(chat, "demo: terminal echo hi")).text


# -- files --------------------------------------------------------------------------------------------------------


async def test_reading_inside_the_folder_is_the_agents_business(opened: Open, project: Path) -> None:
    (project / "note.txt").write_text("one\ntwo\nthree\n")
    async with opened(fs=True) as chat:
        turn = await ask(chat, "demo: fsread note.txt 2 1", person := Person())
    assert (turn.text.strip(), person.questions) == (repr("two\n"), [])


@pytest.mark.parametrize("path", ["../outside.txt", "missing.txt"])
async def test_what_cannot_be_read_is_an_error_for_the_agent(opened: Open, project: Path, path: str) -> None:
    (project.parent / "outside.txt").write_text("secret")
    async with opened(fs=True) as chat:
        turn = await ask(chat, f"demo: fsread {path}", person := Person())
    assert ("secret" in turn.text, "failed" in turn.text, person.questions) == (False, True, [])


@pytest.mark.parametrize("prompt", ["demo: fswrite note.txt new", "demo: terminal touch note.txt"])
async def test_in_the_mode_plan_nothing_is_done_and_nobody_is_asked(opened: Open, project: Path, prompt: str) -> None:
    async with opened(fs=True, terminal=True, permission_mode="bypassPermissions") as chat:
        await chat.set_mode("plan")
        turn = await ask(chat, prompt, person := Person())
    assert ("the mode is plan" in turn.text, person.questions, list(project.iterdir())) == (True, [], [])


@pytest.mark.parametrize(("kind", "text"), [("allow_once", "new"), ("reject_once", "old")])
async def test_a_write_that_the_agent_did_not_ask_about_is_asked_about_with_all_that_changes(
    opened: Open, project: Path, kind: str, text: str
) -> None:
    (project / "note.txt").write_text("old")
    async with opened(fs=True) as chat:
        await ask(chat, "demo: fswrite note.txt new", person := Person(kind))
    assert [question.call.content for question in person.questions] == [
        (Diff(str(project / "note.txt"), "old", "new"),)
    ]
    (done,) = ours(person)
    assert (done[:2], (project / "note.txt").read_text()) == (
        ("Write note.txt", "completed" if text == "new" else "rejected"),
        text,
    )


async def test_a_write_that_was_asked_about_is_not_asked_about_again(opened: Open, project: Path) -> None:
    async with opened(fs=True) as chat:
        await ask(chat, "demo: fswrite-asked note.txt new", person := Person())
    assert ((project / "note.txt").read_text(), len(person.questions), ours(person)) == ("new", 1, [])


async def test_one_permission_is_for_one_write(opened: Open, project: Path) -> None:
    async with opened(fs=True) as chat:
        await ask(chat, "demo: fswrite-asked note.txt one\nfswrite note.txt one", person := Person())
    assert len(person.questions) == 2


async def test_what_a_rule_or_the_mode_allows_is_not_asked_about(opened: Open, project: Path) -> None:
    for more in ({"allow": ("Edit",)}, {"permission_mode": "bypassPermissions"}):
        async with opened(fs=True, **more) as chat:
            await ask(chat, "demo: fswrite note.txt new", person := Person("reject_once"))
        assert (person.questions, [done[1] for done in ours(person)]) == ([], ["completed"])


async def test_no_rule_allows_what_runs_by_itself(opened: Open, project: Path) -> None:
    async with opened(fs=True, allow=("Edit", "Read")) as chat:
        await ask(chat, "demo: fswrite .envrc new\nfsread .envrc", person := Person())
    assert [question.call.title for question in person.questions] == [
        "Write .envrc, which may hold secrets",
        "Read .envrc, which may hold secrets",
    ]


async def test_git_and_our_own_settings_are_never_written(opened: Open, project: Path) -> None:
    async with opened(fs=True, permission_mode="bypassPermissions", state=str(project / "state")) as chat:
        for path in (".git/config", "copilot_kernel.json", "state/x"):
            assert "not written for agents" in (await ask(chat, f"demo: fswrite {path} x")).text
    assert [path for path in project.rglob("*") if path.is_file()] == []


# -- one that shows something and does something else ---------------------------------------------------------------


async def shows(
    script: Script,
    shown: dict[str, object],
    method: str,
    does: dict[str, object],
    later: dict[str, object] | None = None,
) -> object:
    call = {"toolCallId": "t", "title": "Harmless", **shown}
    await script.ask(sessionId="s1", toolCall=call, options=OPTIONS)
    if later:
        await script.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", **later})
    try:
        await script.connection.request(method, {"sessionId": "s1", **does})
    except Exception as error:
        await script.say(str(error))
    return {"stopReason": "end_turn"}


CHEATS = [
    ("other content", "edit", "note.txt", "harmful", 2),
    ("another file", "edit", "other.txt", "harmless", 2),
    ("what it said", "edit", "note.txt", "harmless", 1),
    ("another kind", "read", "note.txt", "harmless", 2),
]


@pytest.mark.parametrize(("what", "kind", "path", "content", "questions"), CHEATS, ids=[cheat[0] for cheat in CHEATS])
async def test_a_permission_is_for_what_it_showed(
    opened: Open, project: Path, what: str, kind: str, path: str, content: str, questions: int
) -> None:
    diff = {"type": "diff", "path": str(project / "note.txt"), "oldText": None, "newText": "harmless"}

    async def prompt(script: Script, params: dict[str, object]) -> object:
        does = {"path": str(project / path), "content": content}
        return await shows(script, {"kind": kind, "content": [diff]}, "fs/write_text_file", does)

    async with met(opened, {"fs": True}, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", person := Person())
    assert len(person.questions) == questions


async def test_what_the_agent_makes_of_a_call_after_it_was_allowed_does_not_count(opened: Open, project: Path) -> None:
    def diff(text: str) -> dict[str, object]:
        change = {"type": "diff", "path": str(project / "note.txt"), "oldText": None, "newText": text}
        return {"kind": "edit", "content": [change]}

    async def prompt(script: Script, params: dict[str, object]) -> object:
        does: dict[str, object] = {"path": str(project / "note.txt"), "content": "harmful"}
        return await shows(script, diff("harmless"), "fs/write_text_file", does, later=diff("harmful"))

    async with met(opened, {"fs": True}, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", person := Person())
    assert len(person.questions) == 2


@pytest.mark.parametrize(
    ("does", "questions"),
    [
        ({"command": "echo", "args": ["hi"]}, 1),
        ({"command": "/bin/sh", "args": ["-c", "echo hi"]}, 1),
        ({"command": "echo hi"}, 1),
        ({"command": "echo", "args": ["ho"]}, 2),
        ({"command": "echo", "args": ["hi"], "env": [{"name": "PATH", "value": "/evil"}]}, 2),
        ({"command": "echo", "args": ["hi"], "cwd": "/"}, 2),
    ],
)
async def test_a_permission_is_for_the_command_it_showed(opened: Open, does: dict[str, object], questions: int) -> None:
    async def prompt(script: Script, params: dict[str, object]) -> object:
        shown = {"kind": "execute", "rawInput": {"command": "echo hi"}}
        return await shows(script, shown, "terminal/create", does)

    async with met(opened, {"terminal": True}, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", person := Person())
    assert len(person.questions) == questions


async def test_nothing_is_done_when_no_turn_runs(opened: Open, project: Path) -> None:
    errors: list[str] = []

    async def late(script: Script) -> None:
        does = {"sessionId": "s1", "path": str(project / "note.txt"), "content": "late"}
        with pytest.raises(Exception, match="no turn is running") as caught:
            await script.connection.request("fs/write_text_file", does)
        errors.append(str(caught.value))

    more = {"fs": True, "permission_mode": "bypassPermissions"}
    async with met(opened, more) as (script, chat):
        await ask(chat, "hello")
        with anyio.fail_after(LIMIT):
            await late(script)
    assert (len(errors), list(project.iterdir())) == (1, [])


PARAMS: dict[str, dict[str, object]] = {
    "fs/read_text_file": {"path": "{cwd}/note.txt"},
    "fs/write_text_file": {"path": "{cwd}/note.txt", "content": "new"},
    "terminal/create": {"command": "touch", "args": ["ran"]},
    "terminal/output": {"terminalId": "{terminal}"},
    "terminal/wait_for_exit": {"terminalId": "{terminal}"},
    "terminal/kill": {"terminalId": "{terminal}"},
    "terminal/release": {"terminalId": "{terminal}"},
}


async def request(script: Script, method: str, params: dict[str, object]) -> object:
    """The result, or the code of the error."""
    try:
        return await script.connection.request(method, params)
    except AgentRefused as error:
        return error.code


@pytest.mark.parametrize("session", ["s2", "", 7, ["s1"], {"id": "s1"}, True])
async def test_no_request_is_served_for_another_session(opened: Open, project: Path, session: object) -> None:
    (project / "note.txt").write_text("old")
    codes: dict[str, object] = {}

    async def prompt(script: Script, params: dict[str, object]) -> object:
        made: Any = await request(script, "terminal/create", {"sessionId": "s1", "command": "sleep", "args": ["60"]})
        for method, does in PARAMS.items():
            text = json.dumps({"sessionId": session, **does})
            text = text.replace("{cwd}", str(project)).replace("{terminal}", made["terminalId"])
            codes[method] = await request(script, method, json.loads(text))
        assert await request(script, "terminal/output", {"sessionId": "s1", **made}) == {
            "output": "",
            "truncated": False,
        }
        return {"stopReason": "end_turn"}

    everything = {"fs": True, "terminal": True, "permission_mode": "bypassPermissions"}
    async with met(opened, everything, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", Person())
    assert codes == dict.fromkeys(PARAMS, -32602)
    assert [(path.name, path.read_text()) for path in project.iterdir()] == [("note.txt", "old")]


async def test_a_request_that_names_no_session_is_about_the_only_one(opened: Open, project: Path) -> None:
    (project / "note.txt").write_text("text")
    async with met(opened, {"fs": True}) as (script, chat):
        await ask(chat, "hello")
        for absent in ({}, {"sessionId": None}):
            answer = await request(script, "fs/read_text_file", {"path": str(project / "note.txt"), **absent})
            assert answer == {"content": "text"}


NO_INTEGERS = ["2", 1.5, True, -1, [2], {}, ""]


@pytest.mark.parametrize("value", NO_INTEGERS)
@pytest.mark.parametrize(
    ("method", "name"),
    [("fs/read_text_file", "line"), ("fs/read_text_file", "limit"), ("terminal/create", "outputByteLimit")],
)
async def test_what_is_no_integer_is_refused_and_not_guessed(
    opened: Open, project: Path, method: str, name: str, value: object
) -> None:
    (project / "note.txt").write_text("one\ntwo\n")
    codes: list[object] = []

    async def prompt(script: Script, params: dict[str, object]) -> object:
        does = {"path": str(project / "note.txt"), "command": "true", "sessionId": "s1"}
        codes.append(await request(script, method, {**does, name: value}))
        for right in (2, 2.0, None):
            assert isinstance(await request(script, method, {**does, name: right}), dict)
        return {"stopReason": "end_turn"}

    everything = {"fs": True, "terminal": True, "permission_mode": "bypassPermissions"}
    async with met(opened, everything, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", Person())
    assert codes == [-32602]


# -- terminals ----------------------------------------------------------------------------------------------------


async def test_a_command_is_asked_about_as_it_really_runs_and_shown_with_its_output(opened: Open) -> None:
    async with opened(terminal=True) as chat:
        turn = await ask(chat, "demo: terminal echo hi; exit 3", person := Person())
    line = "DEMO_AGENT=1 /bin/sh -c 'echo hi; exit 3'"
    assert [question.call.raw_input["command"] for question in person.questions] == [line]
    (done,) = [e for e in person.of(ToolCall) if isinstance(e, ToolCall) and e.call_id.startswith("copilot-kernel-")]
    assert (done.title, done.status) == (f"Run {line}", "failed")
    assert done.meta["terminal_output"]["data"] == "hi\n"
    assert done.meta["terminal_exit"] == {"exit_code": 3, "signal": None}
    assert "'hi\\n'" in turn.text


async def test_a_rejected_command_does_not_run(opened: Open, project: Path) -> None:
    async with opened(terminal=True) as chat:
        turn = await ask(chat, "demo: terminal touch ran", person := Person("reject_once"))
    assert ([done[1] for done in ours(person)], "did not allow" in turn.text) == (["rejected"], True)
    assert list(project.iterdir()) == []


async def test_a_cancel_ends_the_command(opened: Open) -> None:
    async with opened(terminal=True, permission_mode="bypassPermissions") as chat:
        person = TerminalService(chat)
        turn = await cancelled(chat, "demo: terminal echo begun; sleep 60", person, lambda: person.running)
        assert turn.stop_reason == "cancelled"
        with anyio.fail_after(LIMIT):
            while len(psutil.Process().children(recursive=True)) > len(("agent", "reaper")):
                await anyio.lowlevel.checkpoint()


class TerminalService(Person):
    """Notices when a command has said something."""

    def __init__(self, chat: Chat) -> None:
        super().__init__()
        self.running = anyio.Event()

    def show(self, entry: object) -> None:
        super().show(entry)  # type: ignore[arg-type]
        if isinstance(entry, ToolCall) and "terminal_output" in entry.meta:
            self.running.set()


async def test_a_command_that_was_left_ends_with_the_agent(opened: Open) -> None:
    async with opened(terminal=True, permission_mode="bypassPermissions") as chat:
        await ask(chat, "demo: terminal-left sleep 60")
        assert len(psutil.Process().children(recursive=True)) > len(("agent", "reaper"))
        await chat.restart()
        assert psutil.Process().children(recursive=True) == []
