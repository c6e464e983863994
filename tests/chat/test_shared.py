"""Several conversations of this process on one agent: each hears only what is said in its own session."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from copilot_kernel.chat import Chat, open_chat
from copilot_kernel.config import Settings

from ..acp.scripted import OPTIONS, listening, numbered
from .loopback import address, connecting
from .people import Person, ask


@asynccontextmanager
async def sharing(settings: Settings, count: int, **answers: Any) -> AsyncIterator[tuple[Any, list[Chat]]]:
    """A scripted agent that gives its sessions numbers, and chats that share it."""
    async with listening(**{"session_new": numbered(), **answers}) as (script, launch), AsyncExitStack() as stack:
        settings = replace(settings, agent=address(launch))
        connect = await stack.enter_async_context(connecting(settings))
        yield script, [await stack.enter_async_context(open_chat(settings, connect=connect)) for _ in range(count)]


async def test_a_question_goes_to_the_conversation_that_it_is_about(settings: Settings) -> None:
    async def prompt(script: Any, params: Any) -> None:
        call = {"toolCallId": "c1", "title": params["sessionId"]}
        await script.ask(sessionId=params["sessionId"], toolCall=call, options=OPTIONS)

    people = [Person("allow_once"), Person("reject_once")]
    async with sharing(settings, 2, session_prompt=prompt) as (_, chats):
        async with anyio.create_task_group() as tasks:
            for chat, person in zip(chats, people, strict=True):
                tasks.start_soon(ask, chat, "Hello", person)
        titles = [[question.call.title for question in person.questions] for person in people]
        assert titles == [[chat.session.id] for chat in chats if chat.session]
    assert [person.calls[0][1] for person in people] == ["allowed by you", "denied by you"]


# -- one session, one conversation ------------------------------------------------------------------------------------
