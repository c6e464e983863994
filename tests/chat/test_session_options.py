"""What a session is set to, with the demo agent in its dialects."""

from typing import Any

import anyio
import pytest
from copilot_kernel.acp import agent_connection
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.results import option_of
from copilot_kernel.chat import Chat
from copilot_kernel.errors import AgentRefused

from ..acp.scripted import Script
from ..limits import until
from .conftest import Open
from .loopback import met
from .people import LIMIT, Person, ask

PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"


def sent(chat: Chat) -> list[str]:
    return [line.split('"method": "')[1].split('"')[0] for line in chat.log() if "session/set_" in line]


@pytest.mark.parametrize(
    ("switches", "typed", "mode", "method"),
    [
        ("", "plan", "plan", "session/set_config_option"),
        ("option-id", "PLAN", "plan", "session/set_config_option"),
        ("uri-modes", "plan", PLAN, "session/set_config_option"),
        ("no-options", "plan", "plan", "session/set_mode"),
        ("no-options,uri-modes", "plan", PLAN, "session/set_mode"),
        ("no-modes", "plan", "plan", "session/set_config_option"),
    ],
)
async def test_a_mode_is_set_by_a_short_name_in_the_agents_way(
    opened: Open, switches: str, typed: str, mode: str, method: str
) -> None:
    async with opened(switches=switches) as chat:
        await chat.options.set_mode(typed)
        assert set(sent(chat)) == {method}
        assert chat.conversation.state.mode == mode
        if option := option_of(chat.conversation.state.options, "mode"):
            assert option["currentValue"] == mode
        turn = await ask(chat, "demo: say hello", person := Person())
        assert (chat.conversation.state.mode, turn.mode, person.notices) == (mode, "plan", [])


@pytest.mark.parametrize(("setting", "members"), [("configId", ["configId", "optionId"]), ("optionId", ["optionId"])])
async def test_the_setting_says_how_an_option_is_named_first(opened: Open, setting: str, members: list[str]) -> None:
    async with opened(switches="option-id", option_member=setting) as chat:
        await chat.options.set_mode("plan")
        lines = [line for line in chat.log() if "session/set_config_option" in line]
        assert [name for line in lines for name in ("configId", "optionId") if name in line] == members


@pytest.mark.parametrize(
    ("switches", "method"), [("", "session/set_config_option"), ("no-options,models", "session/set_model")]
)
async def test_a_model_is_set_in_the_agents_way(opened: Open, switches: str, method: str) -> None:
    async with opened(switches=switches) as chat:
        await chat.options.set_model("scripted-large")
        assert (sent(chat), (await ask(chat, "demo: say hello")).model) == ([method], "scripted-large")


# -- what the agent tells after `session/new` -------------------------------------------------------------------------


def choice(id: str, member: str = "id") -> dict[str, Any]:
    choices = [{"value": f"{id}-1", "name": "One"}, {"value": f"{id}-2", "name": "Two"}]
    return {member: id, "name": id, "type": "select", "currentValue": f"{id}-1", "options": choices}


CONFIG = {"sessionUpdate": "config_option_update"}
MODE = {"sessionUpdate": "current_mode_update"}


async def told(chat: Chat, script: Script, work: Any, *updates: dict[str, Any]) -> Any:
    """What `work` comes to, with an agent that opens a session with nothing but an id, and then says more."""
    found: list[Any] = []

    async def run() -> None:
        found.append(await work)

    await chat.ready()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.lowlevel.checkpoint()
            for update in updates:
                await script.update(update)
    return found[0]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_connection, "OPTIONS_DELAY", LIMIT)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("member", ["id", "optionId", "configId"])
async def test_modes_and_models_that_are_told_late_can_be_set(opened: Open, member: str) -> None:
    update = {**CONFIG, "configOptions": [choice("mode", member), choice("model", member)]}
    async with met(opened, session_set_config_option={}) as (script, chat):
        await told(chat, script, chat.options.set_model("two"), update)
        await chat.options.set_mode("two")
        state = await chat.options.offered("modes")
        assert (state.model, state.mode) == ("model-2", "mode-2")
        assert [params["configId"] for method, params in script.heard if "set_" in method] == ["model", "mode"]


@pytest.mark.usefixtures("patient")
async def test_modes_that_are_only_named_one_by_one_can_be_set_again(opened: Open) -> None:
    async with met(opened, session_set_mode={}) as (script, chat):
        await told(chat, script, chat.options.offered("modes"), {**MODE, "modeId": "ask"}, {**MODE, "modeId": "plan"})
        await until(lambda: chat.conversation.state.mode == "plan")
        await chat.options.set_mode("ask")
        state = await chat.options.offered("modes")
        assert ([mode.id for mode in state.modes], state.mode) == (["ask", "plan"], "ask")


async def test_an_agent_that_tells_nothing_is_waited_for_once_and_gets_what_was_typed(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer decides, also when it has mentioned a mode since."""
    monkeypatch.setattr(agent_connection, "OPTIONS_DELAY", 0.01)
    refusal = RequestFailed(-32602, "No such model")
    async with met(opened, session_set_mode={}, session_set_model=refusal) as (script, chat):
        await chat.options.set_mode("code")
        await chat.options.set_mode("ask")
        with pytest.raises(AgentRefused, match="No such model"):
            await chat.options.set_model("large")
        assert [params.get("modeId") or params["modelId"] for method, params in script.heard if "set_" in method] == [
            "code", "ask", "large",
        ]  # fmt: skip
        assert (await chat.options.offered("modes")).mode == "ask"
        assert chat.session.options_delay == 0
        monkeypatch.setattr(agent_connection, "OPTIONS_DELAY", 3600)
        await chat.new()
        with anyio.fail_after(LIMIT):
            await chat.options.set_mode("code")
