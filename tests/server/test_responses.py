"""`POST /v1/responses`, beside what OpenAI's own clients see of it."""

from typing import Any

import pytest
from copilot_kernel.server.errors import ApiError
from copilot_kernel.server.openai.responses import read_messages, read_responses
from copilot_kernel.server.openai.schema import chat_usage, tokens_of_turn

from .api import Api, prompts, scripted

HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}


async def test_instructions_come_first_and_messages_in_order(api: Api) -> None:
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
    asked = [HI, said, {"role": "user", "content": "Bye"}]
    async with scripted(api) as script:
        await api.post("v1/responses", {"input": asked, "instructions": "Short."})
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
def test_what_cannot_be_honoured_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ApiError, match="400") as error:
        read_responses({"input": "Hello", name: value})
    assert error.value.param == name


@pytest.mark.parametrize("value", [
    [], [{"type": "item_reference", "id": "x"}], [{"role": "king", "content": "x"}], [{"role": "user"}],
])  # fmt: skip
def test_an_input_that_makes_no_sense_is_told(value: Any) -> None:
    with pytest.raises(ApiError, match="400") as error:
        read_messages(value)
    assert error.value.param == "input"


async def test_what_is_wrong_in_a_kept_conversation_is_told_of_the_input(api: Api) -> None:
    """What is new there says nothing, though the whole does; or has an image, which this agent does not take."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    async with scripted(api) as script:
        kept = {"X_Copilot_Session": "kept"}
        first = await api.post("v1/responses", {"input": [HI]}, **kept)
        said = {"role": "assistant", "content": first.body["output"][0]["content"][0]["text"]}
        for content, words in ((" ", "input: there is nothing"), ([image], "This agent does not accept images.")):
            got = await api.post("v1/responses", {"input": [HI, said, {"role": "user", "content": content}]}, **kept)
            assert (got.status, got.error["param"]) == (400, "input")
            assert got.error["message"].startswith(words)
        assert len(prompts(script)) == 1


async def test_trouble_in_the_middle_of_a_stream_is_an_event_and_an_early_stop_is_incomplete(api: Api) -> None:
    got = await api.post("v1/responses", {"input": "demo: say x\nsilent 2.1\nerror -32603 no luck", "stream": True})
    last = got.events[-1]
    assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
    assert last["response"]["error"]["message"].startswith("The agent failed.")
    got = await api.post("v1/responses", {"input": "demo: say x\nstop max_tokens"})
    assert (got.body["status"], got.body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


@pytest.mark.parametrize(("now", "before"), [
    (None, {}),
    ({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, None),
    ({"inputTokens": 1}, {}),
    ({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, {"totalTokens": 5}),
])  # fmt: skip
def test_tokens_that_cannot_be_known_are_none(now: Any, before: Any) -> None:
    assert chat_usage(tokens_of_turn(now, before)) is None


@pytest.mark.parametrize(("more", "total", "before", "told"), [
    ({}, 15, {}, (10, 5, 15)),
    ({}, 15, {"inputTokens": 2, "outputTokens": 1, "totalTokens": 3}, (8, 4, 12)),
    ({"thoughtTokens": 3}, 18, {}, (10, 8, 18)),
    ({"thoughtTokens": 3}, 15, {}, (10, 5, 15)),
    ({"cachedReadTokens": 4}, 19, {}, (14, 5, 19)),
])  # fmt: skip
def test_tokens_are_what_came_since_the_turn_before_and_add_up_to_the_total(
    more: Any, total: int, before: Any, told: Any
) -> None:
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": total, **more}
    found: Any = chat_usage(tokens_of_turn(usage, before))
    assert (found["prompt_tokens"], found["completion_tokens"], found["total_tokens"]) == told
