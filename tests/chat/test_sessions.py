"""Which session the prompts go to, over the lives of kernels and agents, with the demo agent as a process."""

import json
import re
import stat
from pathlib import Path

import anyio
import pytest
from copilot_kernel.chat import Chat
from copilot_kernel.chat.session_manager import (
    FORGOTTEN,
    NEW_CONVERSATION,
    NOT_KEPT,
    OTHER_NOTEBOOK,
    PREVIOUS_GONE,
    RESTARTED,
    UNSHOWN,
)
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentRefused, AuthRequired, SessionInUse, UsageError
from copilot_kernel.kept_files import UNKNOWN
from copilot_kernel.notebook.live import NotebookCell, NotebookState

from ..agent.signin import log_in
from ..notebook_tools.fakes import FakeNotebook
from .conftest import Open, Time, chatting
from .people import LIMIT, Person, ask

BOOK = "/home/me/book.ipynb"
CONTINUES = re.compile(r"Resumed the conversation from \d{4}-\d\d-\d\d: Demo: demo: say one")


async def turns(chat: Chat) -> str:
    """How many prompts the agent remembers, this one included."""
    said = (await ask(chat, "demo: remember")).text
    return re.findall(r"\d+", said)[0]


def saved(settings: Settings) -> list[Path]:
    return sorted(Path(settings.state).glob("sessions/*"))


def switch(monkeypatch: pytest.MonkeyPatch, switches: str) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", switches)


# -- from kernel to kernel ----------------------------------------------------------------------------------------


async def test_the_next_kernel_of_a_notebook_goes_on_with_its_conversation(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say \u202eone")
    async with opened(BOOK) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id, await turns(chat)) == (first.session_id, "3")
    assert CONTINUES.fullmatch(person.notices[0].replace("⟨U+202E⟩one", "one"))
    assert "\u202e" not in person.notices[0]
    assert person.said == [("user", "demo: say two"), ("agent", "two")]


LONG = "demo: say a prompt of a certain length"


@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        (("x = 1", LONG), ("x = 1", LONG), True),
        (("x = 1", LONG), ("a", "b", LONG), True),
        (("x = 1", "short"), ("x = 1", "another"), True),
        (("x = 1", "short"), ("short",), False),
        (("x = 1", LONG), ("x = 1",), False),
        ((LONG,), (), False),
    ],
    ids=["same", "moved", "edited", "short", "another", "empty"],
)
async def test_another_notebook_of_the_same_path_begins_anew(
    opened: Open, before: tuple[str, ...], after: tuple[str, ...], goes_on: bool
) -> None:
    async with opened(BOOK, live=FakeNotebook(*before, asking=f"c{len(before)}")) as chat:
        first = await ask(chat, LONG)
    async with opened(BOOK, live=FakeNotebook(*after)) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
    assert (turn.session_id == first.session_id) is goes_on
    assert (OTHER_NOTEBOOK.format(first.session_id) in person.notices) is not goes_on


async def test_cells_of_a_format_without_ids_are_known_by_their_source_alone(opened: Open) -> None:
    sessions = []
    for sources in (("short", LONG), ("short", "x" * 30), ("x" * 30, "short")):
        cells = tuple(NotebookCell(f"cell-{at}", "code", source) for at, source in enumerate(sources))
        (book := FakeNotebook()).state = NotebookState(cells, saved=True)
        async with opened(BOOK, live=book) as chat:
            sessions.append((await ask(chat, LONG)).session_id)
            if len(sessions) == 2:
                await chat.resume(sessions[0], Person())
    assert [sessions.index(each) for each in sessions] == [0, 1, 0]


async def test_another_notebook_begins_anew_and_none_is_not_remembered(opened: Open, settings: Settings) -> None:
    sessions = set()
    for notebook, count in (("", 0), (BOOK, 1), ("/home/me/another.ipynb", 2), ("", 2)):
        async with opened(notebook) as chat:
            sessions.add((await ask(chat, "demo: say one", person := Person())).session_id)
        assert (person.notices, len(saved(settings))) == ([], count)
    assert len(sessions) == 4


async def test_the_session_is_saved_when_it_is_known_for_nobody_else_to_read(opened: Open, settings: Settings) -> None:
    async with opened(BOOK) as chat:
        await chat.ready()
        (file,), (lock,) = saved(settings), Path(settings.state).glob("locks/*")
        assert [stat.S_IMODE(each.stat().st_mode) for each in (file, lock)] == [0o600, 0o600]
        expected = {"version": 1, "session": chat.session.id, "cells": []}
        assert json.loads(file.read_text()) == {**expected, "used": False, "runs": False}
        await ask(chat, "demo: say one")
        assert json.loads(file.read_text()) == {**expected, "used": True, "runs": False}
    assert list(Path(settings.state).glob("locks/*")) == []


async def test_what_a_newer_version_has_saved_stays_and_a_line_says_so(opened: Open, settings: Settings) -> None:
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say one")
    (file,) = saved(settings)
    file.write_text(newer := '{"version": 2}')
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say two", person := Person())
        await chat.new()
    assert person.notices == [NOT_KEPT.format(UNKNOWN.format(file, 2, 1))]
    assert file.read_text() == newer


async def test_what_was_never_used_is_not_missed(opened: Open) -> None:
    async with opened(BOOK) as chat:
        await chat.ready()
    async with opened(BOOK, switches="load-fails,no-resume") as chat:
        await ask(chat, "demo: say one", person := Person())
    assert person.notices == []


@pytest.mark.parametrize("content", ["rubbish", "[]", '{"session": 5}'])
async def test_a_file_that_cannot_be_read_is_as_none(opened: Open, settings: Settings, content: str) -> None:
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say one")
    saved(settings)[0].write_text(content)
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say two", person := Person())
    assert person.notices == []


async def test_a_folder_that_cannot_be_written_costs_no_turn(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with opened(BOOK, state=str(tmp_path / "file")) as chat:
        assert (await ask(chat, "demo: say one")).text == "one"


@chatting(notebook=BOOK)
async def test_a_session_that_could_not_be_saved_is_saved_when_that_can_be_done(
    chat: Chat, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(settings.state, "sessions")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    for _ in range(2):
        await ask(chat, "demo: say one")
    assert caplog.text.count("the session cannot be saved") == 1
    folder.unlink()
    turn = await ask(chat, "demo: say two")
    assert json.loads(saved(settings)[0].read_text())["session"] == turn.session_id


async def test_two_kernels_never_go_on_with_the_same_conversation(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
        open_here = f"is open in notebook {BOOK}"
        async with opened(BOOK) as other:
            turn = await ask(other, "demo: say two", person := Person())
            assert turn.session_id != first.session_id
            (notice,) = person.notices
            assert open_here in notice
            assert f"`%resume {first.session_id}`" in notice
            for refused in (other.resume(first.session_id, Person()), other.delete(first.session_id)):
                with pytest.raises(SessionInUse) as error:
                    await refused
                assert (open_here in str(error.value), "Close" in error.value.hint) == (True, True)
            assert (await ask(other, "demo: say three")).session_id == turn.session_id
        assert await turns(chat) == "2"


async def test_resume_of_what_is_not_there_leaves_everything_as_it_is_and_locks_nothing(opened: Open) -> None:
    async with opened() as chat, opened() as other:
        first = await ask(chat, "demo: say one")
        for each in (chat, other):
            with pytest.raises(AgentRefused):
                await each.resume("unknown", Person())
        with pytest.raises(SessionInUse):
            await other.resume(first.session_id, Person())
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id, person.notices) == (first.session_id, [])


# -- from agent to agent ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switches", ["no-load", "no-resume", "no-list", "page=1"])
async def test_a_restarted_agent_goes_on(opened: Open, switches: str) -> None:
    async with opened(switches=switches) as chat:
        await ask(chat, "demo: say zero")
        await chat.new()
        first = await ask(chat, "demo: say one")
        await chat.restart()
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id, await turns(chat)) == (first.session_id, "3")
    assert (person.notices, person.said) == ([RESTARTED], [("user", "demo: say two"), ("agent", "two")])


@pytest.mark.parametrize(
    ("switches", "line"),
    [("no-load,no-resume", FORGOTTEN), ("load-fails,no-resume", NEW_CONVERSATION), ("resume-fails", NEW_CONVERSATION)],
)
async def test_a_loss_is_one_line(opened: Open, monkeypatch: pytest.MonkeyPatch, switches: str, line: str) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(BOOK, switches=switches) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.text, turn.session_id != first.session_id) == ("two", True)
        assert [notice.startswith(line.partition("{")[0]) for notice in person.notices] == [True]
        assert len(person.notices[0].splitlines()) == 1
    async with opened(BOOK) as chat:
        switch(monkeypatch, "")
        assert (await ask(chat, "demo: say three")).session_id == turn.session_id


async def test_a_session_that_is_not_listed_any_more_is_not_asked_for(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened() as other:
        await other.delete(first.session_id)
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say two", person := Person())
        assert not any('"session/resume"' in line or '"session/load"' in line for line in chat.log())
    assert person.notices == [PREVIOUS_GONE]


async def test_a_load_that_fails_once_is_tried_again(opened: Open, time: Time) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(BOOK, switches="no-resume,load-fails=1") as chat:
        assert (await ask(chat, "demo: say two")).session_id == first.session_id
    assert time.naps == [1.0]


# -- asked for ----------------------------------------------------------------------------------------------------


async def test_resume_shows_what_was_said_by_both(opened: Open) -> None:
    async with opened() as chat:
        first = await ask(chat, "demo: say one\nplan a, b")
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say elsewhere")
        turn = await chat.resume(first.session_id, person := Person())
        assert (turn.stop_reason, turn.session_id) == ("end_turn", first.session_id)
        assert person.said[:2] == [("user", "demo: say one\nplan a, b"), ("agent", "one")]
        assert {entry.turn for entry in person.entries.values()} == {2}
        assert await turns(chat) == "2"
    async with opened(BOOK) as chat:
        assert (await ask(chat, "demo: say two")).session_id == first.session_id


async def test_resume_without_load_shows_nothing(opened: Open) -> None:
    async with opened() as chat:
        first = await ask(chat, "demo: say one")
    for switches in ("no-load", "load-fails"):
        async with opened(switches=switches) as chat:
            turn = await chat.resume(first.session_id, person := Person())
            assert (turn.session_id, person.notices, person.said) == (first.session_id, [UNSHOWN], [])


async def test_the_list_is_of_this_folder_or_of_all_and_needs_no_sign_in(opened: Open, tmp_path: Path) -> None:
    async with opened() as chat:
        here = (await ask(chat, "demo: say one")).session_id
    async with opened(cwd=str(tmp_path)) as chat:
        there = (await ask(chat, "demo: say two")).session_id
    async with opened(switches="signed-out") as chat:
        listed = await chat.sessions()
        assert [(session.id, session.title) for session in listed] == [(here, "Demo: demo: say one")]
        assert {session.id for session in await chat.sessions(here=False)} == {here, there}
        assert chat.session is None


async def test_a_closed_session_can_be_resumed_and_a_deleted_one_is_gone(chat: Chat) -> None:
    first = await ask(chat, "demo: say one")
    await chat.close_session()
    with pytest.raises(UsageError, match="No session is open"):
        await chat.close_session()
    second = await ask(chat, "demo: say two")
    assert (await chat.resume(first.session_id, Person())).session_id == first.session_id
    await chat.delete(first.session_id)
    assert [session.id for session in await chat.sessions()] == [second.session_id]
    turn = await ask(chat, "demo: say three", person := Person())
    assert (turn.session_id != first.session_id, person.notices) == (True, [])


# -- signing in ---------------------------------------------------------------------------------------------------


@chatting(switches="signed-out")
async def test_after_signing_in_elsewhere_the_same_cell_works(chat: Chat) -> None:
    for _ in range(2):
        with pytest.raises(AuthRequired):
            await ask(chat, "demo: say one")
    log_in()
    assert (await ask(chat, "demo: say one")).text == "one"


async def test_the_sign_in_opens_a_session_that_was_refused(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(BOOK, switches="signed-out,auth=meta+agent") as chat:
        with pytest.raises(AuthRequired):
            await ask(chat, "demo: say two")
        with anyio.fail_after(LIMIT):
            await chat.authenticate()
        assert chat.session.id == first.session_id
        await ask(chat, "demo: say two", person := Person())
        assert CONTINUES.fullmatch(person.notices[0])
        await chat.logout()
        with pytest.raises(AuthRequired):
            await ask(chat, "demo: say three")


@pytest.mark.parametrize(
    ("auth", "method", "words"),
    [
        ("meta", "", "python tests/agent --login"),
        ("terminal", "", "COPILOT_KERNEL_DEMO_SIGN_IN=1"),
        ("meta+agent", "fax", "Choose one of: demo-login, demo-account."),
    ],
)
async def test_what_only_a_terminal_can_do_is_told_with_its_command(
    opened: Open, auth: str, method: str, words: str
) -> None:
    async with opened(agent="demo", switches=f"signed-out,auth={auth}") as chat:
        with pytest.raises(UsageError) as caught:
            await chat.authenticate(method)
        assert words in caught.value.hint
