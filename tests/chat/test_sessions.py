"""Which session the prompts go to, over the lives of kernels and agents, with the demo agent as a process."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import anyio
import psutil
import pytest
from copilot_kernel.chat import Chat
from copilot_kernel.chat.sessions import FORGOTTEN, GONE, LOST, RESTARTED, UNSHOWN
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentRefused, AuthRequired, SessionInUse, UsageError

from .conftest import Open, Time
from .people import LIMIT, Person, ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

BOOK = "/home/me/book.ipynb"
CONTINUES = re.compile(r"Continues the conversation of \d{4}-\d\d-\d\d: Demo: demo: say one")


async def turns(chat: Chat) -> str:
    """How many prompts the agent remembers, this one included."""
    said = (await ask(chat, "demo: remember")).text
    return re.findall(r"\d+", said)[0]


async def kill(chat: Chat) -> None:
    """SIGKILL, between two turns."""
    link = chat.agent.link
    assert link is not None
    for child in psutil.Process().children(recursive=True):
        child.kill()
    with anyio.fail_after(LIMIT):
        await link.closed.wait()


def saved(settings: Settings) -> list[Path]:
    return sorted(Path(settings.state).glob("sessions/*"))


def demo(monkeypatch: pytest.MonkeyPatch, switches: str) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", switches)


# -- from kernel to kernel ----------------------------------------------------------------------------------------


async def test_the_title_of_the_conversation_hides_nothing(opened: Open) -> None:
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say \u202eone")
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say two", person := Person())
    assert person.notices[0].endswith(": Demo: demo: say ⟨U+202E⟩one")


async def test_the_next_kernel_of_a_notebook_goes_on_with_its_conversation(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(BOOK) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id, await turns(chat)) == (first.session_id, "3")
    assert CONTINUES.fullmatch(person.notices[0])
    assert person.said == [("user", "demo: say two"), ("agent", "two")]


@pytest.mark.parametrize("notebook", ["", "/home/me/another.ipynb"])
async def test_another_notebook_and_none_begin_anew(opened: Open, notebook: str) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(notebook) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
    assert (turn.session_id != first.session_id, person.notices) == (True, [])


async def test_another_folder_begins_anew(opened: Open, tmp_path: Path) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(BOOK, cwd=str(tmp_path)) as chat:
        assert (await ask(chat, "demo: say two")).session_id != first.session_id


async def test_without_a_notebook_nothing_is_remembered(opened: Open, settings: Settings) -> None:
    async with opened() as chat:
        await ask(chat, "demo: say one")
    assert [path for path in Path(settings.state).rglob("*") if path.is_file()] == []


async def test_the_session_is_saved_when_it_is_known_for_nobody_else_to_read(opened: Open, settings: Settings) -> None:
    async with opened(BOOK) as chat:
        await chat.ready()
        (file,) = saved(settings)
        assert chat.session is not None
        told = {"notebook": BOOK, "agent": "demo", "cwd": settings.cwd, "session": chat.session.id, "used": False}
        assert (json.loads(file.read_text()), stat.S_IMODE(file.stat().st_mode)) == (told, 0o600)
        await ask(chat, "demo: say one")
        assert json.loads(file.read_text()) == {**told, "used": True}
        (lock,) = Path(settings.state).glob("locks/*")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert list(Path(settings.state).glob("locks/*")) == []


async def test_what_was_never_used_is_not_missed(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(BOOK) as chat:
        await chat.ready()
    demo(monkeypatch, "load-fails,no-resume")
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say one", person := Person())
    assert person.notices == []


@pytest.mark.parametrize("content", ["", "rubbish", "[]", '{"session": 5}', '{"session": ""}'])
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


async def test_two_kernels_never_go_on_with_the_same_conversation(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
        open_here = f"already open in notebook {BOOK} (process {os.getpid()})"
        async with opened(BOOK) as other:
            turn = await ask(other, "demo: say two", person := Person())
            assert turn.session_id != first.session_id
            (notice,) = person.notices
            assert open_here in notice
            assert f"`%resume {first.session_id}`" in notice
            for refused in (other.resume(first.session_id, Person()), other.delete(first.session_id)):
                with pytest.raises(SessionInUse) as error:
                    await refused
                assert (open_here in str(error.value), "close" in error.value.hint) == (True, True)
            assert (await ask(other, "demo: say three")).session_id == turn.session_id
        assert await turns(chat) == "2"


async def test_a_session_is_locked_until_its_conversation_is_another_one(opened: Open) -> None:
    async with opened(place="a chat") as chat, opened(place="a script") as other:
        first = await ask(chat, "demo: say one")
        with pytest.raises(SessionInUse, match=r"already open in a chat \(process"):
            await other.resume(first.session_id, Person())
        await chat.new()
        assert (await other.resume(first.session_id, Person())).session_id == first.session_id
        with pytest.raises(SessionInUse, match="a script"):
            await chat.resume(first.session_id, Person())
        assert (await ask(chat, "demo: say two")).session_id != first.session_id


async def test_a_session_that_cannot_be_resumed_is_not_kept_from_others(opened: Open) -> None:
    async with opened() as chat:
        session = (await ask(chat, "demo: say one")).session_id
        with pytest.raises(AgentRefused):
            await chat.resume("unknown", Person())
        async with opened() as other:
            with pytest.raises(AgentRefused):
                await other.resume("unknown", Person())
            with pytest.raises(SessionInUse):
                await other.resume(session, Person())


async def test_a_session_that_is_being_deleted_is_not_resumed(opened: Open, settings: Settings) -> None:
    async with opened() as chat:
        session = (await ask(chat, "demo: say one")).session_id
        await chat.new()
        await chat.delete(session)
        assert list(Path(settings.state).glob("locks/*")) == []


# -- from agent to agent ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switches", ["", "no-load", "no-resume", "no-list", "page=1"])
async def test_an_agent_that_was_killed_goes_on_where_it_was(
    opened: Open, monkeypatch: pytest.MonkeyPatch, switches: str
) -> None:
    demo(monkeypatch, switches)
    async with opened() as chat:
        await ask(chat, "demo: say zero")
        await chat.new()
        first = await ask(chat, "demo: say one")
        await kill(chat)
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id, await turns(chat)) == (first.session_id, "3")
    assert (person.notices, person.said) == ([RESTARTED], [("user", "demo: say two"), ("agent", "two")])


LOSSES = [
    ("no-load,no-resume", FORGOTTEN),
    ("load-fails,no-resume", LOST),
    ("load-fails,no-resume,no-list", LOST),
    ("resume-fails", LOST),
]


@pytest.mark.parametrize(("switches", "line"), LOSSES)
async def test_what_cannot_be_gone_on_with_is_lost_in_one_line(
    opened: Open, monkeypatch: pytest.MonkeyPatch, switches: str, line: str
) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    demo(monkeypatch, switches)
    async with opened(BOOK) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.text, turn.session_id != first.session_id) == ("two", True)
        assert [notice.startswith(line.partition("{")[0]) for notice in person.notices] == [True]
        assert len(person.notices[0].splitlines()) == 1
    async with opened(BOOK) as chat:
        demo(monkeypatch, "")
        assert (await ask(chat, "demo: say three")).session_id == turn.session_id


async def test_a_session_that_is_not_listed_any_more_is_not_asked_for(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened() as other:
        await other.delete(first.session_id)
    async with opened(BOOK) as chat:
        await ask(chat, "demo: say two", person := Person())
        assert not any('"session/resume"' in line or '"session/load"' in line for line in chat.log())
    assert person.notices == [GONE]


async def test_a_load_that_fails_once_is_tried_again(opened: Open, monkeypatch: pytest.MonkeyPatch, time: Time) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    demo(monkeypatch, "no-resume,load-fails=1")
    async with opened(BOOK) as chat:
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


async def test_resume_without_load_says_that_nothing_can_be_shown(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as chat:
        first = await ask(chat, "demo: say one")
    for switches in ("no-load", "load-fails"):
        demo(monkeypatch, switches)
        async with opened() as chat:
            turn = await chat.resume(first.session_id, person := Person())
            assert (turn.session_id, person.notices, person.said) == (first.session_id, [UNSHOWN], [])


async def test_resume_of_what_is_not_there_is_an_error_that_leaves_the_conversation_as_it_is(opened: Open) -> None:
    async with opened() as chat:
        first = await ask(chat, "demo: say one")
        with pytest.raises(AgentRefused):
            await chat.resume("no such session", Person())
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id, person.notices) == (first.session_id, [])


async def test_an_agent_without_sessions_says_so(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(monkeypatch, "no-load,no-resume,no-list,no-close,no-delete,no-logout")
    async with opened() as chat:
        await ask(chat, "demo: say one")
        for work in (
            lambda: chat.resume("x", Person()),
            chat.sessions,
            chat.close_session,
            lambda: chat.delete("x"),
            chat.logout,
        ):
            with pytest.raises(UsageError, match="does not offer this"):
                await work()
        assert await turns(chat) == "2"


async def test_the_list_is_of_this_folder_or_of_all_and_needs_no_sign_in(
    opened: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with opened() as chat:
        here = (await ask(chat, "demo: say one")).session_id
    async with opened(cwd=str(tmp_path)) as chat:
        there = (await ask(chat, "demo: say two")).session_id
    demo(monkeypatch, "signed-out")
    async with opened() as chat:
        listed = await chat.sessions()
        assert [(session.id, session.title) for session in listed] == [(here, "Demo: demo: say one")]
        assert {session.id for session in await chat.sessions(here=False)} == {here, there}
        assert chat.session is None


async def test_a_new_session_forgets_the_old_one_even_for_the_next_kernel(opened: Open, settings: Settings) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
        await chat.new()
        assert (saved(settings), chat.session) == ([], None)
    async with opened(BOOK) as chat:
        turn = await ask(chat, "demo: say two", person := Person())
    assert (turn.session_id != first.session_id, person.notices) == (True, [])


async def test_a_closed_session_can_be_resumed(opened: Open) -> None:
    async with opened() as chat:
        first = await ask(chat, "demo: say one")
        await chat.close_session()
        with pytest.raises(UsageError, match="no open session"):
            await chat.close_session()
        assert (await ask(chat, "demo: say two")).session_id != first.session_id
        assert (await chat.resume(first.session_id, Person())).session_id == first.session_id


async def test_a_deleted_session_is_not_missed_by_the_next_kernel(opened: Open) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    async with opened(BOOK) as chat:
        await chat.delete(first.session_id)
        await ask(chat, "demo: say two", person := Person())
    assert person.notices == []


async def test_a_deleted_session_is_gone(opened: Open) -> None:
    async with opened() as chat:
        first = await ask(chat, "demo: say one")
        await chat.delete(first.session_id)
        assert await chat.sessions() == ()
        turn = await ask(chat, "demo: say two", person := Person())
        assert (turn.session_id != first.session_id, person.notices) == (True, [])


# -- signing in ---------------------------------------------------------------------------------------------------


async def test_after_signing_in_elsewhere_the_same_cell_works(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(monkeypatch, "signed-out")
    async with opened() as chat:
        for _ in range(2):
            with pytest.raises(AuthRequired):
                await ask(chat, "demo: say one")
        await sign_in_elsewhere()
        assert (await ask(chat, "demo: say one")).text == "one"


async def sign_in_elsewhere() -> None:
    await anyio.run_process(["python", "-m", "copilot_kernel.demo", "--login"], env=dict(os.environ))


async def test_a_session_that_was_refused_is_opened_by_the_sign_in(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(BOOK) as chat:
        first = await ask(chat, "demo: say one")
    demo(monkeypatch, "signed-out,auth=meta+agent")
    async with opened(BOOK) as chat:
        with pytest.raises(AuthRequired):
            await ask(chat, "demo: say two")
        with anyio.fail_after(LIMIT):
            await chat.authenticate()
        assert chat.session is not None
        assert chat.session.id == first.session_id
        await ask(chat, "demo: say two", person := Person())
        assert CONTINUES.fullmatch(person.notices[0])
        await chat.logout()
        with pytest.raises(AuthRequired):
            await ask(chat, "demo: say three")


@pytest.mark.parametrize(
    ("auth", "method", "words"),
    [
        ("meta", "", "python -m copilot_kernel.demo --login"),
        ("meta+agent", "demo-login", "python -m copilot_kernel.demo --login"),
        ("terminal", "", "COPILOT_KERNEL_DEMO_SIGN_IN=1"),
        ("none", "", "documentation"),
        ("meta+agent", "fax", "There is: demo-login, demo-account."),
    ],
)
async def test_what_only_a_terminal_can_do_is_told_with_its_command(
    opened: Open, monkeypatch: pytest.MonkeyPatch, auth: str, method: str, words: str
) -> None:
    demo(monkeypatch, f"signed-out,auth={auth}")
    async with opened() as chat:
        with pytest.raises(UsageError) as caught:
            await chat.authenticate(method)
        assert words in caught.value.hint
