"""Modes, models and options, in the forms that agents have them."""

import pytest
from copilot_kernel.demo.options import URI
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

BOOLEANS = {"session": {"configOptions": {"boolean": {}}}}


def values(answer):
    return {option["id"]: option["currentValue"] for option in answer["configOptions"]}


async def choose(client, id, value, **more):
    params = {"sessionId": client.session_id, "configId": id, "value": value, **more}
    return await client.request("session/set_config_option", params)


async def refused(client, method, **params):
    with pytest.raises(AgentRefused) as caught:
        await client.request(method, {"sessionId": client.session_id, **params})
    return caught.value.code, str(caught.value)


async def test_more_options_have_groups_an_unknown_category_and_yes_or_no(talking):
    async with talking("more-options", **BOOLEANS) as client:
        effort, voice, manner, allow = (await client.new())["configOptions"][2:]
    assert (effort["category"], voice["category"], manner["category"]) == (
        "thought_level",
        "_voice",
        "collaboration_mode",
    )
    assert voice["options"] == [
        {
            "group": "serious",
            "name": "Serious",
            "options": [{"value": "plain", "name": "Plain"}, {"value": "dry", "name": "Dry"}],
        },
        {
            "group": "playful",
            "name": "Playful",
            "options": [{"value": "pirate", "name": "Pirate"}, {"value": "bard", "name": "Bard"}],
        },
    ]
    assert allow == {
        "id": "allow_all",
        "name": "Allow everything",
        "category": "permissions",
        "type": "boolean",
        "currentValue": False,
    }


async def test_yes_or_no_is_only_for_clients_that_know_it(talking):
    async with talking("more-options") as client:
        assert "allow_all" not in values(await client.new())


async def test_one_option_changes_what_another_offers(talking):
    async with talking("more-options", **BOOLEANS) as client:
        await choose(client, "model", "scripted-large")
        await choose(client, "effort", "high")
        assert values(await choose(client, "allow_all", True, type="boolean")) == {
            "mode": "agent",
            "model": "scripted-large",
            "effort": "high",
            "voice": "plain",
            "manner": "alone",
            "allow_all": True,
        }
        assert values(await choose(client, "model", "scripted"))["effort"] == "low"
        code, _ = await refused(client, "session/set_config_option", configId="allow_all", value="on")
        assert code == -32602


async def test_an_agent_that_wants_option_id_says_so(talking):
    async with talking("option-id") as client:
        code, words = await refused(client, "session/set_config_option", configId="mode", value="plan")
        assert (code, "missing field `optionId`" in words) == (-32602, True)
        params = {"sessionId": client.session_id, "optionId": "mode", "value": "plan"}
        assert values(await client.request("session/set_config_option", params))["mode"] == "plan"


async def test_modes_can_be_copilots(talking):
    async with talking("uri-modes") as client:
        answer = await client.new()
        assert [mode["id"] for mode in answer["modes"]["availableModes"]] == [
            URI + name for name in ("agent", "plan", "autopilot")
        ]
        await client.prompt("demo: mode autopilot")
        updates = [update for update in client.heard if update["sessionUpdate"] == "current_mode_update"]
        assert updates == [{"sessionUpdate": "current_mode_update", "currentModeId": URI + "autopilot"}]
        assert (await refused(client, "session/set_mode", modeId="plan"))[0] == -32602


async def test_models_as_they_were_before_the_options(talking):
    async with talking("models", "no-options") as client:
        answer = await client.new()
        assert answer.keys() == {"sessionId", "modes", "models"}
        assert answer["models"] == {
            "currentModelId": "scripted",
            "availableModels": [
                {"modelId": "scripted", "name": "Scripted"},
                {"modelId": "scripted-large", "name": "Scripted, large"},
            ],
        }
        params = {"sessionId": client.session_id, "modelId": "scripted-large"}
        assert await client.request("session/set_model", params) == {}
        await client.prompt("demo: say a")
        _, answer = await client.come_back("session/load", client.session_id)
        assert answer["models"]["currentModelId"] == "scripted-large"
        assert (await refused(client, "session/set_model", modelId="none"))[0] == -32602
        assert (await refused(client, "session/set_config_option", configId="mode", value="plan"))[0] == -32601
        assert not [update for update in client.heard if update["sessionUpdate"] == "config_option_update"]


async def test_there_may_be_no_modes(talking):
    async with talking("no-modes") as client:
        assert (await client.new()).keys() == {"sessionId", "configOptions"}
        assert (await refused(client, "session/set_mode", modeId="plan"))[0] == -32601


async def test_the_agent_changes_an_option_by_itself(talking):
    async with talking("more-options", **BOOLEANS) as client:
        update, _ = await client.play("demo: option allow_all true")
        assert (update["sessionUpdate"], values(update)["allow_all"]) == ("config_option_update", True)
        (update, _) = await client.play("demo: option model scripted-large")
        assert values(update)["model"] == "scripted-large"
        with pytest.raises(AgentRefused, match="there is no option 'x'"):
            await client.prompt("demo: option x y")


async def test_what_is_no_longer_offered_is_not_chosen_in_a_loaded_session(talking):
    async with talking("uri-modes") as client:
        await client.prompt("demo: mode plan")
        session = client.session_id
    async with talking() as client:
        _, answer = await client.come_back("session/load", session)
        assert answer["modes"]["currentModeId"] == "agent"
