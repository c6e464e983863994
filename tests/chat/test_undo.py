"""The agent learns what was restored with the next prompt, and again until a prompt that says so has been answered.

Another session, which has not seen what was changed, does not. And what files held is known before a call may write.
"""

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from copilot_kernel.acp.messages import Diff, PermissionOption, PermissionRequest, TextBlock, ToolCallUpdate
from copilot_kernel.chat import Chat
from copilot_kernel.chat.agent import RunningAgent
from copilot_kernel.chat.permission import STOPPED_BY_USER, Approvals, Permissions
from copilot_kernel.chat.rules import PolicyEvaluator
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.undo import UNDONE_PREAMBLE
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentError
from copilot_kernel.host import disk_stage
from copilot_kernel.notebook.live import OpenDocuments
from copilot_kernel.permissions.question import PermissionAnswer, Question
from copilot_kernel.undo.history import NOT_ALL_RECORDED, UndoHistory
from copilot_kernel.undo.tree import Tree

from ..limits import LIMIT
from .conftest import Open, chatting
from .people import Person, ask, cancelled


def told(chat: Chat) -> list[str]:
    """What the last prompt said of it."""
    return [block.text for block in chat.sent if isinstance(block, TextBlock) and "undone" in block.text]


@chatting(agent="demo", cancel_grace=0.2)
@pytest.mark.parametrize("prompt", ["demo: say half\ndie 3", "demo: error -32603 broken", "demo: refuse"])
async def test_a_prompt_that_fails_or_is_refused_is_not_the_last_that_says_it(chat: Chat, prompt: str) -> None:
    await ask(chat, "demo: say hi")
    chat.undo.undone(1, ["a.txt"])
    with suppress(AgentError):
        await ask(chat, prompt)
    assert told(chat) == [UNDONE_PREAMBLE.format("a.txt")]
    await ask(chat, "demo: say hello")
    assert told(chat) == [UNDONE_PREAMBLE.format("a.txt")]
    await ask(chat, "demo: say hello")
    assert told(chat) == []


@chatting(agent="demo", cancel_grace=0.2)
async def test_a_prompt_that_is_stopped_is_not_the_last_that_says_it(chat: Chat) -> None:
    await ask(chat, "demo: say hi")
    chat.undo.undone(1, ["a.txt"])
    person = Person()
    await cancelled(chat, "demo: hang hi", person, lambda: person.heard)
    await ask(chat, "demo: say hello")
    assert told(chat) == [UNDONE_PREAMBLE.format("a.txt")]


async def test_what_is_restored_meanwhile_is_said_with_the_prompt_after(chat: Chat) -> None:
    class Restoring(Person):
        async def ask(self, question: Question) -> PermissionAnswer:
            chat.undo.undone(1, ["b.txt", "c.txt"])
            return await super().ask(question)

    await ask(chat, "demo: say hi")
    chat.undo.undone(1, ["a.txt", "b.txt"])
    await ask(chat, "demo: ask", Restoring())
    assert told(chat) == [UNDONE_PREAMBLE.format("a.txt, b.txt")]
    await ask(chat, "demo: say hello")
    assert told(chat) == [UNDONE_PREAMBLE.format("b.txt, c.txt")]


async def test_another_session_does_not_learn_what_it_has_not_seen(chat: Chat) -> None:
    first = await ask(chat, "demo: say hi")
    chat.undo.undone(1, ["a.txt"])
    await chat.new()
    second = await ask(chat, "demo: say hello")
    assert (told(chat), second.session_id == first.session_id) == ([], False)
    chat.undo.undone(1, ["b.txt"])  # of the session before
    chat.undo.undone(second.number, ["c.txt"])
    await ask(chat, "demo: say hello")
    assert told(chat) == [UNDONE_PREAMBLE.format("c.txt")]
    await chat.resume(first.session_id, Person())
    await ask(chat, "demo: say hello")
    assert told(chat) == [UNDONE_PREAMBLE.format("a.txt, b.txt")]


@pytest.mark.parametrize(("switches", "is_told"), [("", True), ("no-load,no-resume", False)])
async def test_after_a_restart_only_a_session_that_goes_on_learns_it(
    opened: Open, switches: str, is_told: bool
) -> None:
    async with opened(switches=switches) as chat:
        await ask(chat, "demo: say hi")
        chat.undo.undone(1, ["a.txt"])
        await chat.restart()
        await ask(chat, "demo: say hello")
        assert bool(told(chat)) is is_told


async def test_a_command_of_the_agent_says_nothing_of_it(chat: Chat) -> None:
    await ask(chat, "demo: say hi")
    chat.undo.undone(1, ["a.txt"])
    await ask(chat, "/help")
    assert told(chat) == []
    await ask(chat, "demo: say hello")
    assert told(chat) == [UNDONE_PREAMBLE.format("a.txt")]


@chatting(agent="demo")
async def test_an_edit_that_no_file_shows_has_changed_nothing(chat: Chat) -> None:
    diff = {"type": "diff", "path": "a.txt", "oldText": "one", "newText": "two"}
    call = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit a.txt", "kind": "edit"}
    await ask(chat, f"demo: raw {json.dumps({**call, 'status': 'completed', 'content': [diff]})}")
    assert chat.undo.changes == ()


async def test_no_question_is_answered_before_the_files_of_its_call_are_read(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.txt").write_text("before\n")
    history, read = UndoHistory(str(project), tmp_path / "state"), Tree.read
    recording, asked, answers = history.begin(), threading.Event(), threading.Event()
    assert recording is not None
    await recording.begun()
    monkeypatch.setattr(disk_stage, "LOOKUP_SECONDS", LIMIT)
    monkeypatch.setattr(Tree, "read", lambda *of: (asked.set(), answers.wait(LIMIT)) and read(*of))
    state, person = ConversationState(), Person()
    state.begin("prompt", person, [TextBlock("do it")], recording)
    permissions = Permissions(state, PolicyEvaluator(Settings(cwd=str(project))), Approvals(), RunningAgent())
    diff, options = Diff("a.txt", "before\n", "after\n"), [PermissionOption("y", "Yes", "allow_once")]
    async with anyio.create_task_group() as tasks:
        call = ToolCallUpdate("1", kind="edit", content=(diff,))
        tasks.start_soon(permissions.ask, PermissionRequest(call, tuple(options)))
        await to_thread.run_sync(asked.wait, LIMIT)
        await anyio.wait_all_tasks_blocked()
        assert person.questions == []
        answers.set()
    (project / "a.txt").write_text("after\n")
    state.update(ToolCallUpdate("1", status="completed"))
    await history.end(recording, 1)
    (file,) = history.plan(1, OpenDocuments()).certain
    assert (len(person.questions), history.content_before(file)) == (1, b"before\n")
    history.close()


async def test_a_turn_can_be_stopped_while_the_read_of_undo_hangs(
    chat: Chat, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.txt").write_text("one\n")
    asked, answers, read, loop = anyio.Event(), threading.Event(), Tree.read, asyncio.get_running_loop()

    def hang(*of: Any) -> Any:
        loop.call_soon_threadsafe(asked.set)
        return answers.wait(LIMIT) and read(*of)

    monkeypatch.setattr(Tree, "read", hang)
    turn = await cancelled(chat, "demo: edit a.txt one => two\nslow 10000", person := Person(), lambda: asked)
    answers.set()
    assert (turn.stop_reason, turn.stopped_by_user) == ("cancelled", True)
    assert person.calls == [("cancelled", f"not run ({STOPPED_BY_USER})")]
    assert (chat.undo.turns[-1].notes, (project / "a.txt").read_text()) == ((NOT_ALL_RECORDED,), "one\n")
    assert (await ask(chat, "demo: say alive")).text == "alive"
