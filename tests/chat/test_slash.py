"""Which prompts an agent may take for one of its commands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.messages import AvailableCommand, CommandsUpdate
from copilot_kernel.chat import Chat
from copilot_kernel.chat.slash import AS_TEXT
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.config import Settings
from copilot_kernel.permissions.question import PermissionAnswer, Question

from ..acp.scripted import OPTIONS, Script, listening, offering
from ..limits import LIMIT
from .loopback import address
from .people import Person, ask

pytestmark = pytest.mark.anyio


async def sent(settings: Settings, *prompts: str, person: Person | None = None, **answers: Any) -> list[str]:
    """How the prompts begin that the agent gets."""
    async with listening(**{"session_new": offering("compact", "memory show"), **answers}) as (script, launch):
        async with Chat(replace(settings, agent=address(launch))) as chat:
            for prompt in prompts:
                await ask(chat, prompt, person or Person())
        return [params["prompt"][0]["text"] for method, params in script.heard if method == "session/prompt"]


@pytest.mark.parametrize("prompt", ["/compact", "/compact now", " /memory show\nall", "Explain /etc/hosts", "%x"])
async def test_a_command_that_the_agent_offers_goes_to_it_as_it_was_written(settings: Settings, prompt: str) -> None:
    assert await sent(settings, prompt) == [prompt]


@pytest.mark.parametrize(
    "prompt", ["/allow-all on", "/compacted", "/memory", "\n /allow-all on", "\ufeff/x", "//compact"]
)
async def test_anything_else_that_begins_with_a_slash_goes_as_text(settings: Settings, prompt: str) -> None:
    assert await sent(settings, prompt) == [AS_TEXT + prompt]


async def test_an_agent_may_tell_its_commands_after_it_has_opened_the_session() -> None:
    state, told = ConversationState(), (AvailableCommand("compact"),)

    async def tell() -> None:
        state.update(CommandsUpdate(told))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        with anyio.fail_after(LIMIT):
            assert await state.commands_within(2 * LIMIT) == told
    assert (await state.commands_within(2 * LIMIT), state.observers) == (told, [])


async def test_without_any_commands_a_slash_is_text(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilot_kernel.chat.chat.COMMANDS_SECONDS", 0)
    assert await sent(settings, "/compact", session_new={"sessionId": "s1"}) == [f"{AS_TEXT}/compact"]


async def test_the_reason_for_a_no_is_never_a_command(settings: Settings) -> None:
    class Denying(Person):
        async def ask(self, question: Question) -> PermissionAnswer:
            return replace(await super().ask(question), feedback="/compact")

    async def prompt(script: Script, params: Any) -> dict[str, Any]:
        if params["prompt"][0]["text"] == "Go":
            call = {"toolCallId": "1", "title": "Run it", "kind": "execute", "rawInput": {"command": "ls"}}
            await script.ask(sessionId="s1", toolCall=call, options=OPTIONS)
        return {"stopReason": "end_turn"}

    found = await sent(settings, "Go", person=Denying("reject_once"), session_prompt=prompt)
    assert found == ["Go", f"{AS_TEXT}/compact"]
