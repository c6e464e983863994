"""One conversation with the demo agent, which is a real process on a real pipe."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import psutil
import pytest
from copilot_kernel.chat import Chat
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import Message, Notice
from copilot_kernel.errors import AgentExited, AgentNotFound, AgentRefused, AuthRequired

from .people import Person, ask, cancelled

pytestmark = pytest.mark.anyio


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    async with Chat(Settings(agent="demo", cwd=str(tmp_path), cancel_grace=2.0)) as chat:
        yield chat


async def test_a_turn_tells_what_was_said_and_how_it_ended(chat: Chat) -> None:
    person = Person()
    turn = await ask(chat, "demo: say hello", person)
    assert (turn.number, turn.stop_reason, turn.text, turn.agent) == (1, "end_turn", "hello", "demo agent")
    assert [str(message.text) for message in person.of(Message)] == ["demo: say hello", "hello"]  # type: ignore[union-attr]


async def test_an_allowed_edit_changes_the_file_and_a_rejected_one_does_not(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("old\n")
    await ask(chat, "demo: edit note.txt old => new", rejecting := Person("reject_once"))
    assert (tmp_path / "note.txt").read_text() == "old\n"
    await ask(chat, "demo: edit note.txt old => new", allowing := Person())
    assert (tmp_path / "note.txt").read_text() == "new\n"
    assert [rejecting.calls[-1][0], allowing.calls[-1][0]] == ["rejected", "completed"]
    assert allowing.calls[-1][1].startswith("Allowed: ")


async def test_what_a_setting_allows_is_not_asked(tmp_path: Path) -> None:
    async with Chat(Settings(agent="demo", cwd=str(tmp_path), allow=("Edit",))) as chat:
        await ask(chat, "demo: create note.txt text", person := Person("reject_once"))
    assert (person.questions, (tmp_path / "note.txt").exists()) == ([], True)


async def test_bypass_permissions_asks_nothing(tmp_path: Path) -> None:
    settings = Settings(agent="demo", cwd=str(tmp_path), permission_mode="bypassPermissions")
    async with Chat(settings) as chat:
        await ask(chat, "demo: shell echo hi", person := Person("reject_once"))
    assert (person.questions, person.calls[0][0]) == ([], "completed")


async def test_two_questions_are_open_at_once(chat: Chat) -> None:
    await ask(chat, "demo: ask2", person := Person())
    assert len({question.key for question in person.questions}) == 2
    assert all(decision.startswith("Allowed: ") for _, decision in person.calls)


async def test_cancel_while_the_agent_speaks(chat: Chat) -> None:
    person = Person()
    turn = await cancelled(chat, "demo: slow 10000", person, lambda: person.heard)
    assert turn.stop_reason == "cancelled"
    assert (await ask(chat, "demo: say alive")).text == "alive"


async def test_cancel_while_a_question_is_open_answers_it_with_cancelled(chat: Chat) -> None:
    person = Person(kind=None)
    turn = await cancelled(chat, "demo: ask", person, lambda: person.asked)
    assert turn.stop_reason == "cancelled"
    assert [status for status, _ in person.calls] == ["cancelled"]


async def test_an_agent_that_does_not_stop_is_ended_and_the_next_prompt_starts_it_again(tmp_path: Path) -> None:
    async with Chat(Settings(agent="demo", cwd=str(tmp_path), cancel_grace=0.2)) as chat:
        person = Person()
        turn = await cancelled(chat, "demo: hang hi", person, lambda: person.heard)
        assert turn.stop_reason == "cancelled"
        assert "did not stop" in person.notices[-1]
        assert (await ask(chat, "demo: say alive", again := Person())).text == "alive"
        assert again.notices == ["The agent was started again and goes on with the conversation."]


async def test_a_second_cancel_does_not_wait(tmp_path: Path) -> None:
    async with Chat(Settings(agent="demo", cwd=str(tmp_path), cancel_grace=3600)) as chat:
        person = Person()
        turn = await cancelled(chat, "demo: hang hi", person, lambda: person.heard, presses=2)
    assert turn.stop_reason == "cancelled"


async def test_cancel_when_nothing_runs_does_nothing(chat: Chat) -> None:
    chat.cancel()
    await ask(chat, "demo: say one")
    chat.cancel()
    assert (await ask(chat, "demo: say two")).text == "two"


async def test_death_in_a_turn_is_an_error_and_the_next_prompt_starts_the_agent_again(chat: Chat) -> None:
    person = Person()
    with pytest.raises(AgentExited) as caught, anyio.fail_after(2):
        await ask(chat, "demo: say before\ndie 3", person)
    assert "code 3" in str(caught.value)
    assert "demo agent: ending now" in caught.value.stderr
    assert (await ask(chat, "demo: say after")).text == "after"


async def test_death_with_an_open_question_withdraws_it(chat: Chat) -> None:
    person = Person(kind=None)

    async def kill() -> None:
        await person.asked.wait()
        for child in psutil.Process().children(recursive=True):
            child.kill()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill)
        with pytest.raises(AgentExited):
            await ask(chat, "demo: ask", person)
        assert person.calls == [("cancelled", "Cancelled: withdrawn")]


async def test_prompts_wait_for_one_another(chat: Chat) -> None:
    ended: list[str] = []

    async def run(prompt: str) -> None:
        ended.append((await ask(chat, prompt)).text)

    async with anyio.create_task_group() as tasks:
        for prompt in ("demo: slow 5\nsay  one", "demo: say two"):
            tasks.start_soon(run, prompt)
            await anyio.lowlevel.checkpoint()
    assert [ended[0].endswith("one"), ended[1]] == [True, "two"]


async def test_an_error_of_the_agent_leaves_it_alive(chat: Chat) -> None:
    with pytest.raises(AgentRefused) as caught:
        await ask(chat, "demo: error -32603 Something broke")
    assert (caught.value.code, "Something broke" in str(caught.value)) == (-32603, True)
    assert (await ask(chat, "demo: say alive", person := Person())).text == "alive"
    assert person.of(Notice) == []


async def test_what_comes_after_the_end_goes_to_the_turn_that_owns_it(chat: Chat) -> None:
    first, second = Person(), Person()
    await ask(chat, "demo: say one\nlate", first)
    await ask(chat, "demo: say two", second)
    assert {entry.turn for entry in first.entries.values()} == {1}
    assert {entry.turn for entry in second.entries.values()} == {2}


async def test_the_session_remembers_earlier_turns(chat: Chat) -> None:
    await ask(chat, "demo: say one")
    assert "2" in (await ask(chat, "demo: remember")).text


async def test_an_unknown_command_is_an_error_that_names_it(tmp_path: Path) -> None:
    async with Chat(Settings(agent="no-such-agent --acp", cwd=str(tmp_path))) as chat:
        with pytest.raises(AgentNotFound, match="no-such-agent"):
            await ask(chat, "hello")


async def test_an_agent_that_wants_a_sign_in_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "signed-out")
    async with Chat(Settings(agent="demo", cwd=str(tmp_path))) as chat:
        with pytest.raises(AuthRequired) as caught:
            await ask(chat, "hello")
        assert caught.value.methods
        monkeypatch.delenv("COPILOT_KERNEL_DEMO")
        assert (await ask(chat, "demo: say hello")).text == "hello"


async def test_cancel_while_the_agent_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "never-answers")
    person = Person()
    async with Chat(Settings(agent="demo", cwd=str(tmp_path))) as chat:
        turn = await cancelled(chat, "hello", person, lambda: person.begun)
        assert turn.stop_reason == "cancelled"


async def test_the_end_of_the_chat_leaves_no_process(tmp_path: Path) -> None:
    async with Chat(Settings(agent="demo", cwd=str(tmp_path))) as chat:
        await ask(chat, "demo: say hello")
        children = psutil.Process(os.getpid()).children(recursive=True)
        assert children
    assert [child for child in children if child.is_running()] == []
