"""`POST /v1/responses`, beside what OpenAI's own clients see of it."""

from __future__ import annotations

from typing import Any

import pytest
from copilot_kernel.server.usage import as_chat, of_turn

from .api import Api, prompts, scripted

HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}


async def test_instructions_come_first_and_messages_in_order(api: Api) -> None:
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
    async with scripted(api) as script:
        await api.post(
            "v1/responses", {"input": [HI, said, {"role": "user", "content": "Bye"}], "instructions": "Short."}
        )
        ((block,),) = prompts(script)
    places = [block["text"].find(text) for text in ("Short.", "Hi", "Hello.", "Bye")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(("name", "value"), [
    ("tools", [{"type": "web_search"}]),
    ("previous_response_id", "resp_1"),
    ("conversation", "conv_1"),
    ("background", True),
    ("include", ["file_search_call.results"]),
    ("text", {"format": {"type": "json_schema"}}),
    ("top_logprobs", 2),
    ("tool_choice", "required"),
    ("prompt", {"id": "pmpt_1"}),
    ("text", {"format": 5}),
])  # fmt: skip
async def test_what_cannot_be_honoured_is_refused_by_name(api: Api, name: str, value: Any) -> None:
    got = await api.post("v1/responses", {"input": "Hello", name: value})
    assert (got.status, got.error["param"]) == (400, name)


async def test_a_form_that_is_none_is_told_as_such(api: Api) -> None:
    got = await api.post("v1/responses", {"input": "Hello", "text": {"format": 5}})
    assert got.error["message"] == "text.format: must be an object."


@pytest.mark.parametrize("value", [[], [{"type": "item_reference", "id": "x"}], [{"role": "king", "content": "x"}], 5])
async def test_an_input_that_makes_no_sense_is_told(api: Api, value: Any) -> None:
    got = await api.post("v1/responses", {"input": value})
    assert (got.status, got.error["param"]) == (400, "input")


async def test_what_is_wrong_in_a_kept_conversation_is_told_of_the_input(api: Api) -> None:
    """What is new there says nothing, though the whole does."""
    async with scripted(api) as script:
        kept = {"X_Copilot_Session": "kept"}
        first = await api.post("v1/responses", {"input": [HI]}, **kept)
        said = {"role": "assistant", "content": first.body["output"][0]["content"][0]["text"]}
        got = await api.post("v1/responses", {"input": [HI, said, {"role": "user", "content": " "}]}, **kept)
        assert len(prompts(script)) == 1
    assert (got.status, got.error["param"]) == (400, "input")
    assert got.error["message"].startswith("input: there is nothing in it to answer")


async def test_an_image_for_an_agent_that_takes_none_is_told_of_the_input(api: Api) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    async with scripted(api, initialize={"protocolVersion": 1, "agentCapabilities": {}}):
        got = await api.post("v1/responses", {"input": [{"role": "user", "content": [image]}]})
    assert (got.status, got.error["param"], got.error["message"]) == (400, "input", "This agent takes no images.")


async def test_a_turn_that_stopped_early_is_incomplete(api: Api) -> None:
    got = await api.post("v1/responses", {"input": "demo: say x\nstop max_tokens"})
    assert (got.body["status"], got.body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


async def test_trouble_in_the_middle_of_a_stream_is_an_event(api: Api) -> None:
    got = await api.post("v1/responses", {"input": "demo: say x\nsilent 2.1\nerror -32603 no luck", "stream": True})
    last = got.events[-1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
    assert last["response"]["error"]["message"].startswith("The agent failed.")


# -- tokens -----------------------------------------------------------------------------------------------------------


def test_the_tokens_of_a_turn_are_what_came_since_the_one_before() -> None:
    before = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
    now = {"inputTokens": 25, "outputTokens": 5, "totalTokens": 30}
    told = as_chat(of_turn(now, before))
    assert told is not None
    assert (told["prompt_tokens"], told["completion_tokens"], told["total_tokens"]) == (15, 3, 18)


@pytest.mark.parametrize(("now", "before"), [
    (None, {}),
    ({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, None),
    ({"inputTokens": 1}, {}),
    ({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, {"totalTokens": 5}),
])  # fmt: skip
def test_tokens_that_cannot_be_known_are_none(now: Any, before: Any) -> None:
    assert as_chat(of_turn(now, before)) is None


@pytest.mark.parametrize(("usage", "prompt", "completion"), [
    ({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, 10, 5),
    ({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3, "totalTokens": 18}, 10, 8),
    ({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3, "totalTokens": 15}, 10, 5),
    ({"inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 4, "totalTokens": 19}, 14, 5),
])  # fmt: skip
def test_what_went_in_and_what_came_out_are_the_agents_total(usage: Any, prompt: int, completion: int) -> None:
    told = as_chat(of_turn(usage, {}))
    assert told is not None
    assert (told["prompt_tokens"], told["completion_tokens"]) == (prompt, completion)
