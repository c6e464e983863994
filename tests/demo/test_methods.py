"""The agent's methods apart from prompts: what it advertises, and what it answers to mistakes."""

import pytest
from copilot_kernel import __version__
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

COMMANDS = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [
        {"name": "help", "description": "What the demo agent is, and what to ask it"},
        {
            "name": "tour",
            "description": "Show one part of the tour",
            "input": {"hint": "plan, edit, tests or trouble"},
        },
    ],
}
MODES = [{"id": "agent", "name": "Agent: does what you ask"}, {"id": "plan", "name": "Plan: thinks first"}]


def options(mode="agent", model="scripted"):
    return [
        {
            "id": "mode",
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": mode,
            "options": [{"value": mode["id"], "name": mode["name"]} for mode in MODES],
        },
        {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": model,
            "options": [
                {"value": "scripted", "name": "Scripted"},
                {"value": "scripted-large", "name": "Scripted, large"},
            ],
        },
    ]


async def refused(client, method, params):
    with pytest.raises(AgentRefused) as caught:
        await client.request(method, params)
    return caught.value.code


async def test_initialize_says_who_it_is_and_what_it_can(talking):
    async with talking(begins=False) as client:
        assert await client.request("initialize", {"protocolVersion": 1}) == {
            "protocolVersion": 1,
            "agentInfo": {"name": "demo", "title": "demo agent", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
            },
            "authMethods": [],
        }


async def test_the_commands_come_before_the_answer_that_names_their_session(talking, tmp_path):
    async with talking(begins=False) as client:
        before = []
        client.asked.append("session/new")
        answer = await client.connection.request(
            "session/new", {"cwd": str(tmp_path), "mcpServers": []}, answered=lambda: before.extend(client.heard)
        )
        assert before == [COMMANDS]
        modes = {"currentModeId": "agent", "availableModes": MODES}
        assert answer == {"sessionId": answer["sessionId"], "modes": modes, "configOptions": options()}


async def test_each_session_has_an_id_of_its_own(talking):
    async with talking() as client:
        first = client.session_id
        await client.begin()
        assert client.session_id != first


async def test_set_mode_is_told_in_both_ways(talking):
    async with talking() as client:
        assert await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "plan"}) == {}
        assert client.heard[1:] == [
            {"sessionUpdate": "config_option_update", "configOptions": options(mode="plan")},
            {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
        ]


async def test_an_option_is_set_and_all_are_answered(talking):
    async with talking() as client:
        params = {"sessionId": client.session_id, "configId": "model", "value": "scripted-large"}
        changed = options(model="scripted-large")
        assert await client.request("session/set_config_option", params) == {"configOptions": changed}
        assert client.heard[1:] == [{"sessionUpdate": "config_option_update", "configOptions": changed}]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"cwd": "/tmp"}, -32602),
        ("session/new", {"mcpServers": []}, -32602),
        ("session/prompt", {"sessionId": "unknown", "prompt": []}, -32602),
        ("session/prompt", {"sessionId": [], "prompt": []}, -32602),
        ("session/set_mode", {"sessionId": "unknown", "modeId": "plan"}, -32002),
        ("session/set_config_option", {"sessionId": "unknown", "configId": "mode", "value": "plan"}, -32002),
        ("session/load", {"sessionId": "unknown", "cwd": "/tmp", "mcpServers": []}, -32002),
        ("session/load", {"sessionId": "unknown", "cwd": "/tmp"}, -32602),
        ("session/resume", {"sessionId": "unknown", "cwd": "/tmp"}, -32002),
        ("session/resume", {"sessionId": "unknown", "cwd": "tmp"}, -32602),
        ("session/close", {"sessionId": "unknown"}, -32002),
        ("authenticate", {"methodId": "unknown"}, -32601),
        ("no/such", {}, -32601),
        ("session/new", [], -32602),
    ],
)
async def test_a_mistake_is_an_error_with_its_code(talking, method, params, code):
    async with talking() as client:
        assert await refused(client, method, params) == code


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("session/prompt", {"prompt": "text"}),
        ("session/prompt", {}),
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


def test_the_official_schema_refuses_what_is_wrong(schema_validator):
    assert not schema_validator("SessionNotification").is_valid({"sessionId": "1", "update": {"sessionUpdate": "x"}})
    assert not schema_validator("RequestPermissionRequest").is_valid({"sessionId": "1", "options": []})
