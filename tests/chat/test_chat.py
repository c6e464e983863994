"""One conversation with the demo agent; where its end is tested, as a real process on a real pipe."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import Chat
from copilot_kernel.chat.session_manager import RESTARTED
from copilot_kernel.conversation.model import Message
from copilot_kernel.errors import AgentExited

from ..notebook_tools.fakes import FakeNotebook
from ..processes import any_process, children, running
from .conftest import Open, chatting
from .people import LIMIT, Person, ask, cancelled


@pytest.fixture
async def process(opened: Open) -> AsyncIterator[Chat]:
    async with opened(agent="demo", cancel_grace=0.2) as chat:
        yield chat


async def test_a_turn_tells_what_was_said_and_how_it_ended(chat: Chat) -> None:
    person = Person()
    turn = await ask(chat, "demo: say hello", person)
    assert (turn.number, turn.stop_reason, turn.text, turn.agent) == (1, "end_turn", "hello", "demo agent")
    assert [str(message.text) for message in person.of(Message)] == ["demo: say hello", "hello"]


async def test_an_allowed_edit_changes_the_file_and_a_rejected_one_does_not(chat: Chat, project: Path) -> None:
    (project / "note.txt").write_text("old\n")
    await ask(chat, "demo: edit note.txt old => new", rejecting := Person("reject_once"))
    assert (project / "note.txt").read_text() == "old\n"
    await ask(chat, "demo: edit note.txt old => new", allowing := Person())
    assert (project / "note.txt").read_text() == "new\n"
    assert [rejecting.calls[-1][0], allowing.calls[-1][0]] == ["rejected", "completed"]
    assert allowing.calls[-1][1].startswith("allowed ")


async def test_only_the_user_can_read_what_is_saved(chat: Chat, project: Path) -> None:
    await ask(chat, "demo: edit note.txt => new")
    folder = Path(chat.settings.state)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *folder.iterdir())}
    assert len(modes) > 1
    assert set(modes.values()) == {"0o700"}


async def test_cancel_while_a_question_is_open_answers_it_with_cancelled(chat: Chat) -> None:
    person = Person(kind=None)
    turn = await cancelled(chat, "demo: ask", person, lambda: person.asked)
    assert (turn.stop_reason, turn.stopped_by_user) == ("cancelled", True)
    assert person.calls == [("cancelled", "not run (you stopped)")]


@pytest.mark.parametrize(("grace", "presses"), [(0.2, 1), (3600.0, 2)])
async def test_an_agent_that_does_not_stop_is_ended_and_started_again(opened: Open, grace: float, presses: int) -> None:
    async with opened(agent="demo", cancel_grace=grace) as chat:
        person = Person()
        turn = await cancelled(chat, "demo: hang hi", person, lambda: person.heard, presses)
        assert turn.stop_reason == "cancelled"
        assert "did not stop" in person.notices[-1]
        assert (await ask(chat, "demo: say alive", again := Person())).text == "alive"
        assert again.notices == [RESTARTED]


async def test_death_in_a_turn_is_an_error_and_the_next_prompt_starts_the_agent_again(process: Chat) -> None:
    with anyio.fail_after(LIMIT):
        turn = await process.ask([TextBlock("demo: say before\ndie 3")], Person())
    assert isinstance(turn.failure, AgentExited)
    assert "code 3" in str(turn.failure)
    assert "demo agent: ending now" in turn.failure.stderr
    assert (turn.stop_reason, turn.text, turn.agent) == ("error", "before", "demo agent")
    assert (await ask(process, "demo: say after")).text == "after"


async def test_death_with_an_open_question_withdraws_it(process: Chat) -> None:
    person = Person(kind=None)

    async def kill() -> None:
        await person.asked.wait()
        for child in children():
            child.kill()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill)
        with pytest.raises(AgentExited):
            await ask(process, "demo: ask", person)
        assert person.calls == [("cancelled", "not run (withdrawn)")]


async def test_prompts_wait_for_one_another(chat: Chat) -> None:
    ended: list[str] = []

    async def run(prompt: str) -> None:
        ended.append((await ask(chat, prompt)).text)

    async with anyio.create_task_group() as tasks:
        for prompt in ("demo: slow 5\nsay  one", "demo: say two"):
            tasks.start_soon(run, prompt)
            await anyio.lowlevel.checkpoint()
    assert [ended[0].endswith("one"), ended[1]] == [True, "two"]


async def test_what_comes_after_the_end_goes_to_the_turn_that_owns_it(chat: Chat) -> None:
    first, second = Person(), Person()
    await ask(chat, "demo: say one\nlate", first)
    await ask(chat, "demo: say two", second)
    assert {entry.turn for entry in first.entries.values()} == {1}
    assert {entry.turn for entry in second.entries.values()} == {2}


@chatting(switches="never-answers")
async def test_cancel_while_the_agent_starts(chat: Chat) -> None:
    person = Person()
    turn = await cancelled(chat, "hello", person, lambda: person.begun)
    assert turn.stop_reason == "cancelled"


async def test_the_end_of_the_chat_leaves_no_process(opened: Open) -> None:
    async with opened(agent="demo") as chat:
        await ask(chat, "demo: say hello")
        started = children()
        assert started
    assert running(any_process, started) == []


async def test_a_changed_notebook_that_is_open_is_named(opened: Open, project: Path) -> None:
    book = FakeNotebook()
    book.opened = [str(project / "book.ipynb"), str(project / "other.ipynb")]
    async with opened(live=book, permission_mode="acceptEdits") as chat:
        turn = await ask(chat, "demo: create book.ipynb x\ncreate closed.ipynb x")
        assert (await chat.end_of(turn)).changes.opened == ("book.ipynb",)
