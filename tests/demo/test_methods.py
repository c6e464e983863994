"""The agent's methods apart from prompts: what it advertises, and what it answers to mistakes."""

import pytest
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio


async def refused(client, method, params):
    with pytest.raises(AgentRefused) as caught:
        await client.request(method, params)
    return caught.value.code


def values(options):
    return {option["id"]: option["currentValue"] for option in options}


async def test_set_mode_is_told_in_both_ways(talking):
    async with talking() as client:
        assert await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "plan"}) == {}
        option, mode = client.heard[1:]
        assert values(option["configOptions"]) == {"mode": "plan", "model": "scripted"}
        assert mode == {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}


async def test_an_option_is_set_and_all_are_answered(talking):
    async with talking() as client:
        params = {"sessionId": client.session_id, "configId": "model", "value": "scripted-large"}
        answer = await client.request("session/set_config_option", params)
        assert values(answer["configOptions"]) == {"mode": "agent", "model": "scripted-large"}
        assert client.heard[1:] == [{"sessionUpdate": "config_option_update", **answer}]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/prompt", {"sessionId": "unknown", "prompt": []}, -32602),
        ("session/prompt", {"sessionId": [], "prompt": []}, -32602),
        ("session/set_mode", {"sessionId": "unknown", "modeId": "plan"}, -32002),
        ("session/set_config_option", {"sessionId": "unknown", "configId": "mode", "value": "plan"}, -32002),
        ("session/load", {"sessionId": "unknown", "cwd": "/tmp", "mcpServers": []}, -32002),
        ("session/resume", {"sessionId": "unknown", "cwd": "/tmp"}, -32002),
        ("session/close", {"sessionId": "unknown"}, -32002),
        ("authenticate", {"methodId": "unknown"}, -32601),
        ("no/such", {}, -32601),
    ],
)
async def test_a_mistake_is_an_error_with_its_code(talking, method, params, code):
    async with talking() as client:
        assert await refused(client, method, params) == code


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("session/set_mode", {"modeId": "asleep"}),
        ("session/set_config_option", {"configId": "model", "value": "other"}),
        ("session/set_config_option", {"optionId": "model", "value": "scripted"}),
    ],
)
async def test_a_wrong_value_is_an_error(talking, method, members):
    async with talking() as client:
        assert await refused(client, method, {"sessionId": client.session_id, **members}) == -32602


async def test_an_unknown_notification_is_ignored(talking):
    async with talking() as client:
        await client.connection.notify("no/such", {})
        await client.connection.notify("session/cancel", {"sessionId": "unknown"})
        assert await client.prompt("demo: say on") == {"stopReason": "end_turn"}
