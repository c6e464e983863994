"""Several conversations on one agent: each hears only what is said in its own session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from copilot_kernel.chat import Chat, Shared
from copilot_kernel.config import Settings

from ..acp.scripted import OPTIONS, listening
from .loopback import address
from .people import LIMIT, Person, ask

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def sharing(settings: Settings, count: int, **answers: Any) -> AsyncIterator[tuple[Any, Shared, list[Chat]]]:
    """A scripted agent that gives its sessions numbers, and chats that share it."""
    numbers = iter(range(1, 100))

    async def new(script: Any, params: Any) -> dict[str, Any]:
        return {"sessionId": f"s{next(numbers)}"}

    async with listening(**{"session_new": new, **answers}) as (script, launch), AsyncExitStack() as stack:
        settings = replace(settings, agent=address(launch))
        shared = await stack.enter_async_context(Shared(settings))
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


@pytest.mark.parametrize("session", ["", "s9"])
async def test_a_question_that_belongs_to_nobody_is_rejected(settings: Settings, session: str) -> None:
    answers: list[Any] = []

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        answers.append(await script.ask(sessionId=session, toolCall={"toolCallId": "c1"}, options=OPTIONS))
        return {"stopReason": "end_turn"}

    person = Person()
    async with sharing(settings, 2, session_prompt=prompt) as (_, _, chats):
        await ask(chats[0], "Hello", person)
    assert answers == [{"outcome": {"outcome": "selected", "optionId": "no-1"}}]
    assert person.questions == []


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
