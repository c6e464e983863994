"""Several conversations on one agent: each hears only what is said in its own session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from copilot_kernel.chat import Chat, SharedAgent
from copilot_kernel.config import Settings
from copilot_kernel.errors import AgentRefused, SessionInUse

from ..acp.scripted import OPTIONS, listening
from .loopback import address
from .people import LIMIT, Person, ask

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def sharing(settings: Settings, count: int, **answers: Any) -> AsyncIterator[tuple[Any, SharedAgent, list[Chat]]]:
    """A scripted agent that gives its sessions numbers, and chats that share it."""
    numbers = iter(range(1, 100))

    async def new(script: Any, params: Any) -> dict[str, Any]:
        return {"sessionId": f"s{next(numbers)}"}

    async with listening(**{"session_new": new, **answers}) as (script, launch), AsyncExitStack() as stack:
        settings = replace(settings, agent=address(launch))
        shared = await stack.enter_async_context(SharedAgent(settings))
        chats = [await stack.enter_async_context(Chat(settings, shared=shared)) for _ in range(count)]
        yield script, shared, chats


async def test_all_talk_to_one_agent(settings: Settings) -> None:
    async with sharing(settings, 3) as (script, _, chats):
        for chat in chats:
            await ask(chat, "Hello")
        assert len(script.connections) == 1
        assert [chat.session.id for chat in chats if chat.session] == ["s1", "s2", "s3"]


async def test_each_hears_its_own(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        for number in range(20):
            text = {"type": "text", "text": f"{params['sessionId']}.{number} "}
            await script.update({"sessionUpdate": "agent_message_chunk", "content": text}, params["sessionId"])
            await anyio.lowlevel.checkpoint()
        return {"stopReason": "end_turn"}

    said: dict[int, str] = {}
    async with sharing(settings, 4, session_prompt=prompt) as (_, _, chats):

        async def run(place: int) -> None:
            said[place] = (await ask(chats[place], "Hello")).text

        async with anyio.create_task_group() as tasks:
            for place in range(4):
                tasks.start_soon(run, place)
        ids = [chat.session.id for chat in chats if chat.session]
    assert [said[place] for place in range(4)] == ["".join(f"{id}.{n} " for n in range(20)) for id in ids]


async def test_a_question_goes_to_the_conversation_that_it_is_about(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        call = {"toolCallId": "c1", "title": params["sessionId"]}
        answer = await script.ask(sessionId=params["sessionId"], toolCall=call, options=OPTIONS)
        await script.update(
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": str(answer)}},
            params["sessionId"],
        )
        return {"stopReason": "end_turn"}

    people = [Person("allow_once"), Person("reject_once")]
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        async with anyio.create_task_group() as tasks:
            for chat, person in zip(chats, people, strict=True):
                tasks.start_soon(ask, chat, "Hello", person)
        titles = [[question.call.title for question in person.questions] for person in people]
        ids = [[chat.session.id] for chat in chats if chat.session]
    assert titles == ids
    assert [person.calls[0][1] for person in people] == ["Allowed: Allow (you)", "Rejected: Reject (you)"]


async def test_a_question_that_belongs_to_nobody_is_rejected(settings: Settings) -> None:
    answers: list[Any] = []

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        answers.append(await script.ask(sessionId="s9", toolCall={"toolCallId": "c1"}, options=OPTIONS))
        return {"stopReason": "end_turn"}

    person = Person()
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        await ask(chats[0], "Hello", person)
    assert answers == [{"outcome": {"outcome": "selected", "optionId": "no-1"}}]
    assert person.questions == []


@pytest.mark.parametrize("question", [{}, {"sessionId": ""}])
async def test_a_question_that_names_no_session_belongs_to_the_turn_that_runs(
    settings: Settings, question: dict[str, Any]
) -> None:
    answers: list[Any] = []

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        if params["sessionId"] == "s2":
            answers.append(await script.ask(title="Run it?", options=OPTIONS, **question))
        return {"stopReason": "end_turn"}

    people = [Person("reject_once"), Person("allow_once")]
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        for chat, person in zip(chats, people, strict=True):
            await ask(chat, "Hello", person)
    assert [answer["outcome"]["optionId"] for answer in answers] == ["yes-1"]
    assert [len(person.questions) for person in people] == [0, 1]


async def test_a_question_that_names_no_session_is_rejected_while_two_turns_run(settings: Settings) -> None:
    answers: list[Any] = []
    both, asked = anyio.Event(), anyio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        if params["prompt"][0]["text"] == "wait":
            both.set()
            await asked.wait()
            return {"stopReason": "end_turn"}
        await both.wait()
        answers.append(await script.ask(title="Run it?", options=OPTIONS))
        asked.set()
        return {"stopReason": "end_turn"}

    people = [Person(), Person()]
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, chats[0], "wait", people[0])
                tasks.start_soon(ask, chats[1], "Hello", people[1])
    assert [answer["outcome"]["optionId"] for answer in answers] == ["no-1"]
    assert [person.questions for person in people] == [[], []]


async def test_text_that_names_no_session_is_nobodys_unless_there_is_one_conversation(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        await script.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}, "")
        return {"stopReason": "end_turn"}

    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        assert (await ask(chats[0], "Hello")).text == ""
    async with sharing(settings, 1, session_prompt=prompt) as (_, _, chats):
        assert (await ask(chats[0], "Hello")).text == "x"


async def test_a_conversation_that_cannot_be_stopped_does_not_end_the_agent_of_the_others(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        if params["prompt"][0]["text"] == "hang":
            await anyio.sleep_forever()
        return {"stopReason": "end_turn"}

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
        assert shared.worn
        assert (await ask(chats[1], "Hello")).stop_reason == "end_turn"
        assert len(script.connections) == 1


async def test_the_last_conversation_may_end_the_agent(settings: Settings) -> None:
    async with sharing(settings, 1) as (script, shared, chats):
        await ask(chats[0], "Hello")
        await chats[0].restart()
        assert (shared.agent.link, shared.worn) == (None, False)
        await ask(chats[0], "Hello")
        assert len(script.connections) == 2


async def test_files_and_terminals_go_by_the_settings_of_each_conversation(settings: Settings) -> None:
    answers: list[Any] = []

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        place = {"sessionId": params["sessionId"], "path": f"{settings.cwd}/notes.txt"}
        try:
            answers.append(await script.connection.request("fs/read_text_file", place))
        except Exception as error:
            answers.append(type(error).__name__)
        return {"stopReason": "end_turn"}

    (await anyio.Path(settings.cwd, "notes.txt").write_text("A note."))
    async with sharing(replace(settings, fs=True), 1, session_prompt=prompt) as (_, shared, chats):
        await ask(chats[0], "Hello")
        async with Chat(replace(shared.agent.settings, fs=False), shared=shared) as without:
            await ask(without, "Hello")
    assert answers == [{"content": "A note."}, "AgentRefused"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("session", ["s9", "", 7, ["s1"]])
async def test_no_file_is_read_for_a_session_that_is_nobodys(settings: Settings, count: int, session: object) -> None:
    codes: list[int | None] = []

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        place = {"sessionId": session, "path": f"{settings.cwd}/notes.txt"}
        with pytest.raises(AgentRefused) as caught:
            await script.connection.request("fs/read_text_file", place)
        codes.append(caught.value.code)
        return {"stopReason": "end_turn"}

    (await anyio.Path(settings.cwd, "notes.txt").write_text("A note."))
    async with sharing(replace(settings, fs=True), count, session_prompt=prompt) as (_, _, chats):
        await ask(chats[0], "Hello")
    assert codes == [-32602]


# -- one session, one conversation ------------------------------------------------------------------------------------

LOADS = {"initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}, "session_load": {}}
KEEPS = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"delete": {}}}},
    "session_delete": {},
}


async def test_a_session_that_another_conversation_is_in_is_not_resumed(settings: Settings) -> None:
    async with sharing(settings, 2, **LOADS) as (script, _, (one, other)):
        await ask(one, "Hello")
        with pytest.raises(SessionInUse, match="already open in") as error:
            await other.resume("s1", Person())
        assert error.value.hint
        assert (await ask(other, "Hello")).session_id == "s2"
        assert (await ask(one, "Hello")).session_id == "s1"
    assert "session/load" not in dict(script.heard)


async def test_nor_while_it_is_being_opened(settings: Settings) -> None:
    loading, loaded = anyio.Event(), anyio.Event()

    async def load(script: Any, params: Any) -> dict[str, Any]:
        loading.set()
        await loaded.wait()
        return {}

    async with sharing(settings, 2, **{**LOADS, "session_load": load}) as (_, _, (one, other)):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.resume, "s9", Person())
            with anyio.fail_after(LIMIT):
                await loading.wait()
            with pytest.raises(SessionInUse):
                await other.resume("s9", Person())
            loaded.set()
        assert one.session is not None
        assert one.session.id == "s9"


async def test_nor_by_way_of_another_agent_that_keeps_the_same_sessions(settings: Settings) -> None:
    async with sharing(settings, 1, **LOADS) as (_, first, (one,)):
        await ask(one, "Hello")
        second = SharedAgent(first.agent.settings, beside=lambda: (first, second))
        async with second, Chat(settings, shared=second) as other:
            with pytest.raises(SessionInUse):
                await other.resume("s1", Person())
            await one.new()
            assert (await other.resume("s1", Person())).session_id == "s1"


async def test_nor_after_the_agent_has_ended_since_the_conversation_would_go_on(settings: Settings) -> None:
    async with sharing(settings, 2, **LOADS) as (_, shared, (one, other)):
        await ask(one, "Hello")
        await shared.agent.end()
        with pytest.raises(SessionInUse):
            await other.resume("s1", Person())
        assert (await ask(one, "Hello")).session_id == "s1"


async def test_a_session_that_another_conversation_is_in_is_not_deleted(settings: Settings) -> None:
    async with sharing(settings, 2, **KEEPS) as (script, _, (one, other)):
        await ask(one, "Hello")
        with pytest.raises(SessionInUse):
            await other.delete("s1")
        await one.delete("s1")
    assert [params for method, params in script.heard if method == "session/delete"] == [{"sessionId": "s1"}]


async def test_a_question_that_two_conversations_hear_is_rejected(settings: Settings) -> None:
    """An agent that gives two sessions one id."""
    answers: list[Any] = []

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        answers.append(await script.ask(sessionId="s1", toolCall={"toolCallId": "c1"}, options=OPTIONS))
        return {"stopReason": "end_turn"}

    people = [Person("allow_once"), Person("allow_once")]
    async with sharing(settings, 2, session_new={"sessionId": "s1"}, session_prompt=prompt) as (_, _, chats):
        await chats[0].ready()
        await chats[1].ready()
        await ask(chats[0], "Hello", people[0])
    assert answers == [{"outcome": {"outcome": "selected", "optionId": "no-1"}}]
    assert [person.questions for person in people] == [[], []]
