"""An agent that acts without asking is caught in the act; nobody else is accused."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.messages import Location, TextBlock, ToolCallUpdate
from copilot_kernel.chat import Chat, unasked
from copilot_kernel.chat.permission import Approvals
from copilot_kernel.chat.rules import PolicyEvaluator, resolve
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.turn import Turn
from copilot_kernel.chat.unasked import UnaskedActionMonitor
from copilot_kernel.config import Settings
from copilot_kernel.conversation import reduce
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.conversation.reduce import COMPLETED_ANYWAY
from copilot_kernel.host import disk_stage
from msgspec.structs import replace

from ..acp.scripted import Script
from .conftest import Open, chatting
from .loopback import asking, met, playing
from .people import LIMIT, Person, ask, cancelled, ledger_of

RAN = "not asked"
Call = dict[str, Any]


def call(status: str, kind: str = "execute", **more: Any) -> Call:
    raw = {"command": "touch a"} if kind == "execute" else {}
    return {"toolCallId": "t", "title": "Do it", "kind": kind, "status": status, "rawInput": raw, **more}


def begun(status: str = "pending", **more: Any) -> Call:
    return {"sessionUpdate": "tool_call", **call(status, **more)}


def then(status: str, **more: Any) -> Call:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status, **more}


def marks(person: Person) -> list[tuple[str, bool]]:
    found = [each.unasked for each in person.of(ToolCall)]
    return [(mark.words, mark.covered) for mark in found if mark]


async def seen(opened: Open, *updates: Call, **settings: Any) -> tuple[list[tuple[str, bool]], int, Chat]:
    """The marks, how many acts were unasked, and the chat. A turn is cancelled just where the settings say so."""
    async with met(opened, settings, session_prompt=playing(*updates)) as (_, chat):
        turn = await ask(chat, "hello", person := Person())
    is_cancelled = len(turn.unasked_calls) > 0 and settings.get("on_unasked") == "cancel"
    assert (turn.stop_reason, turn.stopped_by_user) == ("cancelled" if is_cancelled else "end_turn", False)
    return marks(person), len(turn.unasked_calls), chat


# -- who is accused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "updates",
    [
        [begun(), then("completed")],
        [begun("in_progress")],
        [begun(kind="unheard_of", rawInput={"cmd": ["ls", "-l"]}), then("completed")],
        [begun(kind="edit", locations=[{"path": "/etc/hosts"}]), then("completed")],
        [begun(kind="delete"), then("completed")],
    ],
)
async def test_an_act_without_a_question_is_marked_and_counted(opened: Open, updates: list[Call]) -> None:
    found, count, chat = await seen(opened, *updates)
    assert (found, count) == ([(RAN, False)], 1)
    assert [(each.outcome, each.by, each.reason) for each in ledger_of(chat).kept] == [("not asked", "none", "")]


@pytest.mark.parametrize(("kind", "status"), [("read", "completed"), ("other", "completed"), ("execute", "failed")])
async def test_what_is_harmless_or_failed_is_fine(opened: Open, settings: Settings, kind: str, status: str) -> None:
    inside = [{"path": str(Path(settings.cwd, "a.txt"))}]
    found, count, chat = await seen(opened, begun(kind=kind, locations=inside), then(status))
    assert (found, count, ledger_of(chat).count) == ([], 0, 0)


async def test_an_act_after_a_no_is_marked_and_told(opened: Open) -> None:
    prompt = playing(begun(), asking(**call("pending")), then("completed"))
    async with met(opened, session_prompt=prompt) as (_, chat):
        turn = await ask(chat, "hello", person := Person("reject_once"))
        assert [each.outcome for each in ledger_of(chat).kept] == ["denied", "done although denied"]
    assert (marks(person), len(turn.unasked_calls)) == ([("done although it was denied", False)], 1)
    assert person.notices == [COMPLETED_ANYWAY.format("rejected", "Do it")]


@chatting(fs=True, terminal=True, on_unasked="cancel")
@pytest.mark.parametrize(
    "prompt",
    [
        "demo: fswrite-asked a.txt x\nterminal-asked echo a",
        "demo: fswrite a.txt x\nfswrite a.txt y\nterminal echo a\nterminal echo a",
    ],
)
async def test_what_we_do_for_the_agent_is_not_marked_nor_is_the_call_that_shows_it(chat: Chat, prompt: str) -> None:
    turn = await ask(chat, prompt, person := Person())
    assert (marks(person), turn.stop_reason, len(person.questions) > 0) == ([], "end_turn", True)


async def test_a_deed_of_ours_is_no_excuse_for_another_one_of_the_agents(opened: Open) -> None:
    """It runs a harmless command in a terminal of ours, and shows that terminal with another command."""

    async def prompt(script: Script, params: Any) -> None:
        run = {"sessionId": "s1", "command": "/bin/echo", "args": ["a"]}
        made = await script.connection.request("terminal/create", run)
        shown = {"content": [{"type": "terminal", "terminalId": made["terminalId"]}]}
        await script.update(begun(**shown))
        await script.update(then("completed"))

    async with met(opened, {"terminal": True}, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", person := Person())
    assert marks(person) == [(RAN, False)]


@chatting(fs=True)
async def test_of_old_turns_nothing_is_kept(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "KEPT_TURNS", 2)
    prompt = "demo: shell echo once\nrequest fs/write_text_file {path}"
    for number in range(6):
        path = json.dumps({"path": str(Path(chat.settings.folder, f"{number}.txt")), "content": "x"})
        await ask(chat, prompt.format(path=path), person := Person())
        assert len(person.questions) == 2
    approvals = chat.permissions.approvals
    assert (len(approvals.allowed), len(approvals._operations)) == (6, 2)
    assert {call.turn for call in approvals.allowed.values()} == {4, 5, 6}


# -- in what order --------------------------------------------------------------------------------------------------


async def test_a_call_that_is_in_progress_just_before_its_question_is_not_accused(opened: Open) -> None:
    steps = (begun(), then("in_progress"), asking(**call("pending")), then("completed"))
    assert (await seen(opened, *steps, on_unasked="cancel"))[:2] == ([], 0)


async def test_one_that_runs_on_is_accused_while_it_runs(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unasked, "RUNNING_SECONDS", 0.02)
    marked = anyio.Event()

    class Looker(Person):
        def show(self, entry: Any) -> None:
            super().show(entry)
            if isinstance(entry, ToolCall) and entry.unasked:
                marked.set()

    async def prompt(script: Script, params: Any) -> None:
        await script.update(begun("in_progress"))
        with anyio.fail_after(LIMIT):
            await marked.wait()

    async with met(opened, session_prompt=prompt) as (_, chat):
        await ask(chat, "hello", person := Looker())
    assert marks(person) == [(RAN, False)]


async def test_an_act_after_the_turn_is_accused_in_the_cell_that_owns_it(opened: Open) -> None:
    async with met(opened, session_prompt=playing(begun())) as (script, chat):
        await ask(chat, "hello", person := Person())
        await script.update(then("completed"))
        await ask(chat, "again", Person())
    assert marks(person) == [(RAN, False)]


# -- what covers it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"allow": ("Edit",), "on_unasked": "cancel"}, "covered by rule `Edit`"),
        ({"permission_mode": "acceptEdits"}, "covered by “Edit freely” mode"),
        ({"permission_mode": "bypassPermissions"}, "covered by “Allow everything” mode"),
    ],
)
async def test_an_act_that_a_rule_or_the_mode_would_allow_is_covered(
    opened: Open, settings: Settings, more: dict[str, Any], words: str
) -> None:
    inside = {"kind": "edit", "rawInput": {"path": str(Path(settings.cwd, "a.txt"))}}
    found, count, chat = await seen(opened, begun(**inside), then("completed"), **more)
    assert (found, count, ledger_of(chat).kept[0].outcome) == ([(words, True)], 0, "covered")


@pytest.mark.parametrize("on_unasked", ["badge", "cancel"])
async def test_an_act_that_a_rule_denies_is_not_covered_by_the_mode(opened: Open, on_unasked: str) -> None:
    more: dict[str, Any] = {"permission_mode": "bypassPermissions", "deny": ("Bash(touch *)",)}
    found = await seen(opened, begun(), then("completed"), on_unasked=on_unasked, **more)
    assert found[:2] == ([(RAN, False)], 1)


async def test_the_same_command_again_after_always_is_covered_and_another_one_is_not(chat: Chat) -> None:
    """Nor is the same one in another conversation, while what is shown again of this one is not accused."""
    first = await ask(chat, "demo: shell echo a", always := Person("allow_always"))
    turn = await ask(chat, "demo: shell echo a\nunasked echo b", person := Person())
    assert (len(always.questions), person.questions, len(turn.unasked_calls)) == (1, [], 1)
    assert [covered for _, covered in marks(person)] == [True, False]
    assert "your earlier answer" in marks(person)[0][0]
    await chat.new()
    await ask(chat, "demo: unasked echo a", person := Person())
    assert marks(person) == [(RAN, False)]
    count = ledger_of(chat).count
    with anyio.fail_after(LIMIT):
        turn = await chat.resume(first.session_id, person := Person())
    assert (len(person.calls), marks(person), len(turn.unasked_calls), ledger_of(chat).count) == (
        3,
        [],
        0,
        count,
    )


@pytest.mark.parametrize(("updates", "count"), [([begun("completed")], 0), ([begun(), then("completed")], 1)])
async def test_history_that_is_told_late_is_not_accused(opened: Open, updates: list[Call], count: int) -> None:
    """After the agent was started again, with the prompt that goes on with the session."""
    loads = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    turns: list[list[Call]] = [[], updates, [begun("completed", toolCallId="u")]]

    async def prompt(script: Script, params: Any) -> None:
        for update in turns.pop(0):
            await script.update(update)

    async with met(opened, initialize=loads, session_load={}, session_prompt=prompt) as (_, chat):
        await ask(chat, "one")
        await chat.restart()
        assert [len((await ask(chat, text)).unasked_calls) for text in ("two", "three")] == [count, 1]


# -- on_unasked -----------------------------------------------------------------------------------------------------


def watched(folder: Path, **settings: Any) -> tuple[ConversationState, Turn, Person]:
    """A turn that runs, and nothing that looks at its calls until `settle`."""
    monitor = UnaskedActionMonitor(PolicyEvaluator(Settings(cwd=str(folder), **settings)), Approvals())
    state, person = ConversationState(stages=[monitor]), Person()
    return state, state.begin("prompt", person, [TextBlock("do it")]), person


async def test_no_update_stops_the_turn_by_itself(project: Path) -> None:
    state, turn, person = watched(project, on_unasked="cancel")
    raw = {"command": "touch a"}
    state.update(ToolCallUpdate("1", begins=True, status="completed", kind="execute", raw_input=raw))
    assert (turn.stop.pressed, person.notices) == (False, [])
    await state.settle()
    stopped = unasked.TURN_STOPPED.format("$ touch a", RAN)
    assert (turn.stop.pressed, turn.stop.by_user, person.notices) == (True, False, [stopped])


class SlowDisk:
    """Where paths lead is known only when `answers` is set; `asked` is set when somebody wants to know."""

    def __init__(self) -> None:
        self.asked, self.answers, self._loop = anyio.Event(), threading.Event(), asyncio.get_running_loop()

    def resolve(self, paths: Sequence[str]) -> dict[str, str]:
        self._loop.call_soon_threadsafe(self.asked.set)
        self.answers.wait(LIMIT)
        return resolve(paths)


@pytest.fixture
async def disk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlowDisk]:
    disk = SlowDisk()
    monkeypatch.setattr(unasked, "resolve", disk.resolve)
    yield disk
    disk.answers.set()


async def test_a_call_that_is_asked_about_while_its_paths_are_resolved_is_not_accused(
    project: Path, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", LIMIT)
    state, _, person = watched(project)
    update = ToolCallUpdate("1", begins=True, status="in_progress", kind="edit", locations=(Location("a.txt"),))
    state.update(update)
    state.stages[0].end(state)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(state.settle)
        await disk.asked.wait()
        state.advance(reduce.ask(state.conversation, replace(update, begins=False))[0])
        disk.answers.set()
    assert marks(person) == []


async def test_where_paths_lead_that_a_hanging_disk_does_not_tell_excuses_nothing(
    opened: Open, settings: Settings, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", 0.05)
    inside = [{"path": str(Path(settings.cwd, "a.txt"))}]
    edits = [begun("completed", kind="edit", toolCallId=name, locations=inside) for name in "ab"]
    assert (await seen(opened, *edits, permission_mode="acceptEdits"))[:2] == ([(RAN, False)] * 2, 2)
    disk.answers.set()
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", LIMIT)
    assert (await seen(opened, *edits, permission_mode="acceptEdits"))[1] == 0


async def test_a_turn_can_be_stopped_while_the_disk_hangs(chat: Chat, disk: SlowDisk) -> None:
    turn = await cancelled(chat, "demo: unasked echo a\nslow 10000", person := Person(), lambda: disk.asked)
    assert (turn.stop_reason, turn.stopped_by_user, marks(person)) == ("cancelled", True, [(RAN, False)])


@chatting(on_unasked="cancel")
async def test_where_the_settings_say_so_the_first_such_act_cancels_the_turn(chat: Chat) -> None:
    turn = await ask(chat, "demo: unasked echo \u202ea\nslow 10000", person := Person())
    assert (turn.stop_reason, len(turn.unasked_calls)) == ("cancelled", 1)
    assert person.notices == [f"The turn was stopped: $ echo ⟨U+202E⟩a ({RAN})"]
    assert (await ask(chat, "demo: say alive")).text == "alive"


async def test_a_changed_command_is_named_with_nothing_hidden(opened: Open) -> None:
    was, now = {"command": "touch \u202ea"}, {"command": "touch b"}
    steps = (begun(rawInput=was), asking(**call("pending", rawInput=was)), then("completed", rawInput=now))
    found, _, _ = await seen(opened, *steps)
    assert found == [("changed after approval (approved: $ touch ⟨U+202E⟩a)", False)]
