"""What a session is set to, with the demo agent in its dialects."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.options import option_of
from copilot_kernel.chat import Chat
from copilot_kernel.errors import UsageError

from .conftest import Open
from .people import Person, ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]

PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"


def sent(chat: Chat) -> list[str]:
    return [line.split('"method": "')[1].split('"')[0] for line in chat.log() if "session/set_" in line]


def state(chat: Chat) -> object:
    assert chat.conversation.state is not None
    return chat.conversation.state


@pytest.mark.parametrize(
    ("switches", "typed", "mode", "method"),
    [
        ("", "plan", "plan", "session/set_config_option"),
        ("option-id", "PLAN", "plan", "session/set_config_option"),
        ("uri-modes", "plan", PLAN, "session/set_config_option"),
        ("uri-modes", PLAN, PLAN, "session/set_config_option"),
        ("no-options", "plan", "plan", "session/set_mode"),
        ("no-options,uri-modes", "plan", PLAN, "session/set_mode"),
        ("no-modes", "plan", "plan", "session/set_config_option"),
    ],
)
async def test_a_mode_is_set_by_a_short_name_in_the_agents_way(
    opened: Open, monkeypatch: pytest.MonkeyPatch, switches: str, typed: str, mode: str, method: str
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", switches)
    async with opened() as chat:
        await chat.set_mode(typed)
        assert set(sent(chat)) == {method}
        assert chat.conversation.state is not None
        assert chat.conversation.state.mode == mode
        if option := option_of(chat.conversation.state.options, "mode"):
            assert option["currentValue"] == mode
        turn = await ask(chat, "demo: say hello", person := Person())
        assert (chat.conversation.state.mode, turn.mode, person.notices) == (mode, "plan", [])


@pytest.mark.parametrize(
    ("switches", "method"), [("", "session/set_config_option"), ("no-options,models", "session/set_model")]
)
async def test_a_model_is_set_by_its_option_or_as_it_was_before_there_were_options(
    opened: Open, monkeypatch: pytest.MonkeyPatch, switches: str, method: str
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", switches)
    async with opened() as chat:
        await chat.set_model("scripted-large")
        assert (sent(chat), (await ask(chat, "demo: say hello")).model) == ([method], "scripted-large")


@pytest.mark.parametrize("work", ["set_mode", "set_model"])
async def test_an_unknown_name_is_an_error_that_lists_the_others(opened: Open, work: str) -> None:
    async with opened() as chat:
        with pytest.raises(UsageError) as caught:
            await getattr(chat, work)("nonsense")
        assert "There is: " in caught.value.hint
        assert sent(chat) == []


async def test_an_agent_without_modes_says_so(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "no-modes,no-options")
    async with opened() as chat:
        with pytest.raises(UsageError) as caught:
            await chat.set_mode("plan")
        assert caught.value.hint == "The agent offers none."
