"""The OpenAI-compatible API over real agents."""

from typing import Any

import pytest

from .agents import COPILOT

Json = dict[str, Any]

pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.usefixtures("isolated"),
    pytest.mark.parametrize("api", [COPILOT], ids=str, indirect=True),
]


def test_it_answers_plainly_and_as_a_stream(api: Json) -> None:
    assert (api["plain"]["text"], api["stream"]) == ("Four.", "Streamed.")


def test_the_model_gets_all_messages_of_all_roles_in_order_and_marked(api: Json) -> None:
    (sent,) = [text for text in api["received"] if "And two and two?" in text]
    marks = ["<message role=", "system", "Be brief.", "user", "What is one and one?", "assistant", "Two.", "And two"]
    places = [sent.find(mark) for mark in marks]
    assert -1 not in places
    assert sent.find("Be brief.") < sent.find("What is one and one?") < sent.find("Two.") < sent.find("And two and")


def test_the_agents_tools_do_nothing(api: Json) -> None:
    assert api["made"] is False


def test_a_session_that_is_kept_remembers_and_another_does_not(api: Json) -> None:
    assert (api["recalls"], api["knows nothing"]) == ("I remember: blue", "I remember: ")


def test_there_is_a_model(api: Json) -> None:
    assert [model["object"] for model in api["models"]] != []


def test_tokens_are_told_as_the_agent_tells_them(api: Json) -> None:
    usage = api["plain"]["usage"]
    assert usage is None or usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 0
