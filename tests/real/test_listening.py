"""Two kernels are clients of one real agent that listens on a port, offline."""

from typing import Any

import pytest

Json = dict[str, Any]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


def remembered(seen: list[Json]) -> list[tuple[str, str]]:
    """How each cell ended, and its line about notes."""
    lines = [[line for line in each["text"].splitlines() if line.startswith("I remember")] for each in seen]
    return [(each["status"], *found) for each, found in zip(seen, lines, strict=True)]


EACH_ITS_OWN = [("ok", "I remember: left"), ("ok", "I remember: right")]


def test_each_notebook_has_a_session_of_its_own(listening_agent: Json) -> None:
    assert remembered(listening_agent["recalls"]) == EACH_ITS_OWN
    left, right = listening_agent["sessions"]
    assert left
    assert right
    assert left != right


def test_both_go_on_when_the_agent_comes_back(listening_agent: Json) -> None:
    assert remembered(listening_agent["back"]) == EACH_ITS_OWN
    assert all("continues the conversation" in seen["text"] for seen in listening_agent["back"])
    assert listening_agent["sessions after"] == listening_agent["sessions"]
