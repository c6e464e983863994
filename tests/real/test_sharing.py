"""Three kernels of one project share one real agent, offline."""

from typing import Any

import pytest

Json = dict[str, Any]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


def remembered(seen: list[Json]) -> list[tuple[str, str]]:
    """How each cell ended, and its line about notes."""
    lines = [[line for line in each["text"].splitlines() if line.startswith("I remember")] for each in seen]
    return [(each["status"], *found) for each, found in zip(seen, lines, strict=True)]


EACH_ITS_OWN = [("ok", "I remember: of 0"), ("ok", "I remember: of 1")]


def test_three_notebooks_have_one_process_and_each_its_own_conversation(shared_agent: Json) -> None:
    assert [seen["status"] for seen in shared_agent["notes"]] == ["ok"] * 3
    assert (shared_agent["agents"], shared_agent["others"]) == (1, "shared with 2 other notebooks")


def test_a_kernel_that_is_killed_leaves_the_others_theirs(shared_agent: Json) -> None:
    assert remembered(shared_agent["recalls"]) == EACH_ITS_OWN


def test_all_go_on_when_the_agent_was_killed_and_again_with_one(shared_agent: Json) -> None:
    assert remembered(shared_agent["back"]) == EACH_ITS_OWN
    assert all("continues the conversation" in seen["text"] for seen in shared_agent["back"])
    assert shared_agent["agents after"] == 1
