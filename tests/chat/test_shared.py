"""Several conversations on one agent: each hears only what is said in its own session."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from copilot_kernel.chat import Chat, SharedAgent, open_chat
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentRefused, SessionInUse

from ..acp.scripted import OPTIONS, listening, numbered
from .loopback import address, asking, playing
from .people import LIMIT, Person, ask


@asynccontextmanager
async def sharing(settings: Settings, count: int, **answers: Any) -> AsyncIterator[tuple[Any, SharedAgent, list[Chat]]]:
    """A scripted agent that gives its sessions numbers, and chats that share it."""
    async with listening(**{"session_new": numbered(), **answers}) as (script, launch), AsyncExitStack() as stack:
        settings = replace(settings, agent=address(launch))
        shared = SharedAgent(settings)
        await stack.enter_async_context(shared.agent)
        chats = [await stack.enter_async_context(open_chat(settings, shared=shared)) for _ in range(count)]
        yield script, shared, chats


def chunk(text: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


async def test_each_hears_its_own(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> None:
        for number in range(20):
            await script.update(chunk(f"{params['sessionId']}.{number} "), params["sessionId"])
            await anyio.lowlevel.checkpoint()

    async with sharing(settings, 4, session_prompt=prompt) as (_, _, chats):
        people = [Person() for _ in chats]
        async with anyio.create_task_group() as tasks:
            for chat, person in zip(chats, people, strict=True):
                tasks.start_soon(ask, chat, "Hello", person)
        ids = [chat.session.id for chat in chats if chat.session]
    assert [person.said[-1][1] for person in people] == ["".join(f"{id}.{n} " for n in range(20)) for id in ids]


async def test_a_question_goes_to_the_conversation_that_it_is_about(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> None:
        call = {"toolCallId": "c1", "title": params["sessionId"]}
        await script.ask(sessionId=params["sessionId"], toolCall=call, options=OPTIONS)

    people = [Person("allow_once"), Person("reject_once")]
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        async with anyio.create_task_group() as tasks:
            for chat, person in zip(chats, people, strict=True):
                tasks.start_soon(ask, chat, "Hello", person)
        titles = [[question.call.title for question in person.questions] for person in people]
        assert titles == [[chat.session.id] for chat in chats if chat.session]
    assert [person.calls[0][1] for person in people] == ["allowed by you", "denied by you"]


@pytest.mark.parametrize(("session", "new"), [("s9", {}), ("s1", {"session_new": {"sessionId": "s1"}})])
async def test_a_question_of_no_conversation_or_of_two_is_rejected(settings: Settings, session: str, new: Any) -> None:
    """Two hear it if the agent gives two sessions one id."""
    prompt = playing({**asking(toolCallId="c1"), "sessionId": session})
    people = [Person("allow_once"), Person("allow_once")]
    async with sharing(settings, 2, session_prompt=prompt, **new) as (script, _, chats):
        await chats[0].ready()
        await chats[1].ready()
        await ask(chats[0], "Hello", people[0])
    assert script.answers["given"] == [{"outcome": {"outcome": "selected", "optionId": "no-1"}}]
    assert [person.questions for person in people] == [[], []]


@pytest.mark.parametrize("question", [{}, {"sessionId": ""}])
@pytest.mark.parametrize(("is_waiting", "option"), [(False, "yes-1"), (True, "no-1")])
async def test_a_question_without_a_session_is_of_the_only_turn_that_runs(
    settings: Settings, question: dict[str, Any], is_waiting: bool, option: str
) -> None:
    waits, asked, answers = anyio.Event(), anyio.Event(), []

    async def prompt(script: Any, params: Any) -> None:
        if params["sessionId"] == "s1":
            waits.set()
            await asked.wait()
        else:
            await waits.wait()
            answers.append(await script.ask(title="Run it?", options=OPTIONS, **question))
            asked.set()

    people = [Person("reject_once"), Person("allow_once")]
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, (one, other)):
        await one.ready()
        async with anyio.create_task_group() as tasks:
            if is_waiting:
                tasks.start_soon(ask, one, "wait", people[0])
            else:
                waits.set()
            await ask(other, "Hello", people[1])
    assert [answer["outcome"]["optionId"] for answer in answers] == [option]
    assert [len(person.questions) for person in people] == [0, int(not is_waiting)]


@pytest.mark.parametrize(("count", "text"), [(1, "x"), (2, "")])
async def test_text_without_a_session_is_for_the_only_conversation(settings: Settings, count: int, text: str) -> None:
    async def prompt(script: Any, params: Any) -> None:
        await script.update(chunk("x"), "")

    async with sharing(settings, count, session_prompt=prompt) as (_, _, chats):
        assert (await ask(chats[0], "Hello")).text == text


async def test_a_conversation_that_cannot_be_stopped_does_not_end_the_agent_of_the_others(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> None:
        if params["prompt"][0]["text"] == "hang":
            await anyio.sleep_forever()

    async with sharing(replace(settings, cancel_grace=0.1), 2, session_prompt=prompt) as (script, shared, chats):
        person = Person()
        await ask(chats[1], "Hello")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, chats[0], "hang", person)
            with anyio.fail_after(LIMIT):
                await person.begun.wait()
                while not any("hang" in str(params) for _, params in script.heard):
                    await anyio.lowlevel.checkpoint()
            chats[0].cancel()
        assert shared.retiring
        assert (await ask(chats[1], "Hello")).stop_reason == "end_turn"
        assert len(script.connections) == 1


async def test_the_last_conversation_may_end_the_agent(settings: Settings) -> None:
    async with sharing(settings, 1) as (script, shared, chats):
        await ask(chats[0], "Hello")
        await chats[0].restart()
        assert (shared.agent.link, shared.retiring) == (None, False)
        await ask(chats[0], "Hello")
        assert len(script.connections) == 2


async def reading(settings: Settings, answers: list[Any], session: object = None) -> Any:
    """A turn that asks for a file, in its own session or in another one."""
    await anyio.Path(settings.cwd, "notes.txt").write_text("A note.")

    async def prompt(script: Any, params: Any) -> None:
        place = {"sessionId": session or params["sessionId"], "path": f"{settings.cwd}/notes.txt"}
        try:
            answers.append(await script.connection.request("fs/read_text_file", place))
        except AgentRefused as error:
            answers.append(error.code)

    return prompt


async def test_files_and_terminals_go_by_the_settings_of_each_conversation(settings: Settings) -> None:
    prompt = await reading(settings, answers := [])
    async with sharing(replace(settings, fs=True), 1, session_prompt=prompt) as (_, shared, chats):
        await ask(chats[0], "Hello")
        async with open_chat(replace(shared.agent.settings, fs=False), shared=shared) as without:
            await ask(without, "Hello")
    assert answers == [{"content": "A note."}, -32601]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("session", ["s9", ["s1"]])
async def test_no_file_is_read_for_an_unknown_session(settings: Settings, count: int, session: object) -> None:
    prompt = await reading(settings, answers := [], session)
    async with sharing(replace(settings, fs=True), count, session_prompt=prompt) as (_, _, chats):
        await ask(chats[0], "Hello")
    assert answers == [-32602]


async def test_a_file_is_read_for_one_of_two_sessions_that_are_being_opened(
    settings: Settings,
) -> None:
    """Two conversations begin a session at once; whose `s1` is turns out when the first one is open."""
    both, answered, answers, numbers = anyio.Event(), anyio.Event(), list[Any](), iter((1, 2))
    path = anyio.Path(settings.cwd, "notes.txt")
    await path.write_text("A note.")

    async def read(script: Any) -> None:
        answers.append(await script.connection.request("fs/read_text_file", {"sessionId": "s1", "path": str(path)}))
        answered.set()

    async def new(script: Any, params: Any) -> dict[str, Any]:
        if next(numbers) == 1:
            await both.wait()
            tasks.start_soon(read, script)
            await anyio.wait_all_tasks_blocked()
            return {"sessionId": "s1"}
        both.set()
        await answered.wait()
        return {"sessionId": "s2"}

    async with sharing(replace(settings, fs=True), 2, session_new=new) as (_, _, chats):
        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as tasks:
                for chat in chats:
                    tasks.start_soon(chat.ready)
    assert answers == [{"content": "A note."}]


# -- one session, one conversation ------------------------------------------------------------------------------------

CAPABILITIES = {"loadSession": True, "sessionCapabilities": {"delete": {}}}
LOADS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": CAPABILITIES},
    "session_load": {},
    "session_delete": {},
}


async def test_a_session_that_another_conversation_is_in_is_not_resumed_or_deleted(settings: Settings) -> None:
    """Nor after the agent has ended, since that conversation would go on."""
    async with sharing(settings, 2, **LOADS) as (script, shared, (one, other)):
        await ask(one, "Hello")
        for refused in (other.resume("s1", Person()), other.delete("s1")):
            with pytest.raises(SessionInUse, match="already open in") as error:
                await refused
            assert error.value.hint
        assert (await ask(other, "Hello")).session_id == "s2"
        assert "session/load" not in dict(script.heard)
        await shared.agent.end()
        with pytest.raises(SessionInUse):
            await other.resume("s1", Person())
        assert (await ask(one, "Hello")).session_id == "s1"
        assert "session/delete" not in dict(script.heard)
        await one.delete("s1")
    assert [params for method, params in script.heard if method == "session/delete"] == [{"sessionId": "s1"}]


async def test_nor_by_way_of_another_agent_that_keeps_the_same_sessions(settings: Settings) -> None:
    async with sharing(settings, 1, **LOADS) as (_, first, (one,)):
        await ask(one, "Hello")
        second = SharedAgent(first.agent.settings)
        async with second.agent, open_chat(settings, shared=second) as other:
            with pytest.raises(SessionInUse):
                await other.resume("s1", Person())
            await one.new()
            assert (await other.resume("s1", Person())).session_id == "s1"
