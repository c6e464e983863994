"""`GET /v1/models`, and which model a request gets."""

import asyncio
from typing import Any

import pytest
from copilot_kernel.acp import agent_connection
from copilot_kernel.server.catalogue import MAX_NAME_CHARS, ModelObject, choose, identifier, unique_ids
from hypothesis import given, settings
from hypothesis.strategies import lists, text

from ..acp.scripted import answering
from ..limits import examples
from .api import LIMIT, Api, recorder, scripted, until


def model(id: str, name: str, family: str | None = None) -> ModelObject:
    more: Any = {"family": family, "version": None, "maxInputTokens": None}
    return {"id": id, "object": "model", "created": 0, "owned_by": "copilot", "name": name, **more}


MODELS = {
    "gpt-9": model("gpt-9", "GPT 9"),
    "sonnet-1": model("sonnet-1", "Old Sonnet"),
    "claude-x-4": model("claude-x-4", "Claude X 4", family="sonnet"),
    "Vendor Mini": model("vendor/mini", "Small one"),
}
BOTH = [{"modelId": "m1", "name": "One"}, {"modelId": "m2", "name": "Two"}]
RICH = {"modelId": "m3", "name": "Three", "_meta": {"family": "threes", "version": "3.1", "maxInputTokens": 64000}}


@pytest.mark.parametrize(("wanted", "found"), [
    ("", "gpt-9"),
    ("claude-x-4", "claude-x-4"),
    ("CLAUDE-X-4", "claude-x-4"),
    ("claude", "claude-x-4"),
    ("sonnet", "claude-x-4"),
    ("Vendor Mini", "vendor/mini"),
    ("old sonnet", "sonnet-1"),
    ("small", "vendor/mini"),
    ("vendor", "vendor/mini"),
    ("no such thing", "gpt-9"),
])  # fmt: skip
def test_a_model_is_found_by(wanted: str, found: str) -> None:
    assert MODELS[choose(MODELS, wanted)]["id"] == found


@pytest.mark.parametrize(("own", "id"), [
    ("gpt-5.1", "gpt-5.1"),
    ("vendor/mini:free@2+x", "vendor/mini:free@2+x"),
    ("Claude Sonnet 4", "Claude-Sonnet-4"),
    ("a\x1b[31m\u202eb?x=1#y%2f", "a-31m-b-x-1-y-2f"),
    ("../../etc//passwd", "etc/passwd"),
    ("", "model"),
    ("\u200b", "model"),
])  # fmt: skip
def test_ids_of_models_can_be_part_of_an_address(own: str, id: str) -> None:
    assert identifier(own) == id


@settings(max_examples=examples(40), deadline=None)
@given(lists(text(max_size=6), max_size=8))
def test_no_two_models_have_one_id_whatever_the_order(own: list[str]) -> None:
    found = unique_ids(own)
    assert len(set(found.values())) == len(found) == len(set(own))
    assert [each for each in found.values() if identifier(each) != each and len(each) < MAX_NAME_CHARS] == []
    assert unique_ids(reversed(own)) == found


async def test_an_id_that_was_sanitised_leads_to_the_agents_own(api: Api) -> None:
    chosen: list[str] = []
    own = ["big one", "big\u202e?one", "big-one"]
    offered = [{"modelId": each, "name": f"{each}\n\u2066!"} for each in own]
    models = {"currentModelId": "big-one", "availableModels": offered}
    new = {"sessionId": "s1", "models": models}
    async with scripted(api.pool, session_new=new, session_set_model=recorder("modelId", chosen)):
        listed = (await api.ask("v1/models")).body["data"]
        for model in listed:
            assert (await api.ask(f"v1/models/{model['id']}")).body == model
            assert (await api.complete("Hello", model=model["id"])).body["model"] == model["id"]
        assert (await api.ask("api/models")).body["active"] == "big-one"
    assert [each["id"].rpartition("-")[0] for each in listed] == ["big", "big-one", "big-one"]
    assert [each["name"] for each in listed] == [
        "big-one ⟨U+2066⟩!",
        "big one ⟨U+2066⟩!",
        "big⟨U+202E⟩?one ⟨U+2066⟩!",
    ]
    assert sorted(chosen) == sorted(own[:2])


async def test_an_agent_without_models_is_one(api: Api) -> None:
    async with scripted(api.pool):
        (model,) = (await api.ask("v1/models")).body["data"]
        got = await api.complete("Hello", model="gpt-9")
    assert (model["id"], model["owned_by"]) == ("script", "script")
    assert got.body["model"] == "script"


async def test_models_that_are_told_after_the_session_was_opened_are_offered_and_chosen(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_connection, "OPTIONS_DELAY", LIMIT)
    values = [{"value": model["modelId"], "name": model["name"]} for model in BOTH]
    option = {"optionId": "model", "type": "select", "currentValue": "m1", "options": values}
    update = {"sessionUpdate": "config_option_update", "configOptions": [option]}
    tasks: list[asyncio.Task[None]] = []
    chosen: list[str] = []

    async def tell(script: Any, id: str) -> None:
        await until(lambda: id in api.pool.open_sessions)
        await script.update(update, id)

    async def new(script: Any, params: Any) -> dict[str, Any]:
        id = f"s{len(tasks)}"
        tasks.append(asyncio.create_task(tell(script, id)))
        return {"sessionId": id}

    async with scripted(api.pool, session_new=new, session_set_config_option=recorder("value", chosen)):
        assert [model["id"] for model in (await api.ask("v1/models")).body["data"]] == ["m1", "m2"]
        assert (await api.complete("Hello", model="m2")).body["model"] == "m2"
    assert chosen == ["m2"]


@pytest.mark.parametrize(("extension", "default"), [
    ({}, "scripted"), ({"defaultModel": "large"}, "scripted-large"),
], indirect=["extension"])  # fmt: skip
async def test_the_model_that_is_used_is_named_in_the_answer(api: Api, default: str) -> None:
    for more, used in (({}, default), ({"model": "LARGE"}, "scripted-large"), ({"model": "scripted"}, "scripted")):
        assert (await api.complete("demo: say x", **more)).body["model"] == used


async def test_the_list_follows_what_the_agent_changes(api: Api) -> None:
    option = {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "n1"}
    update = {"sessionUpdate": "config_option_update", "configOptions": [{**option, "options": [{"value": "n1"}]}]}
    models = {"currentModelId": "m3", "availableModels": [RICH]}
    new = [{"sessionId": id, "models": models} for id in ("listed", "s1")]
    async with scripted(api.pool, session_new=answering(*new)) as script:
        (model,) = (await api.ask("v1/models")).body["data"]
        expected = {"id": "m3", "family": "threes", "version": "3.1", "maxInputTokens": 64000}
        assert {name: model[name] for name in expected} == expected
        await api.complete("Hello", "kept")
        await script.update(update)
        await until(lambda: [*api.pool.catalogue.models] == ["n1"])
        assert [model["id"] for model in (await api.ask("v1/models")).body["data"]] == ["n1"]
