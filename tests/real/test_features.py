"""Each agent does in a notebook what the page of the agents says, and leaves nothing behind."""

import json
from pathlib import Path
from typing import Any

import pytest

from .agents import AGENTS, COPILOT, PEERS
from .conftest import played
from .features import FEATURES, NO, NONE, PAGE, PORT, YES, Feature, read, written

pytestmark = pytest.mark.timeout(300)
Json = dict[str, Any]
PACKAGES = ("@github/copilot", "opencode-ai", "@google/gemini-cli")


def page() -> str:
    return PAGE.read_text("utf-8")


def test_the_page_has_a_row_for_each_feature_and_a_column_for_each_agent() -> None:
    rows, columns = read(page())
    pins = json.loads(Path(PEERS.parent, "package.json").read_text())["dependencies"]
    assert rows == [*(feature.title for feature in FEATURES), PORT]
    assert [name.split()[-1] for name in columns] == [pins[package] for package in PACKAGES]
    assert [column[-1] for column in columns.values()] == [YES if agent.listen else NONE for agent in AGENTS.values()]
    assert all(all(column) for column in columns.values())


def test_the_page_is_as_its_command_writes_it() -> None:
    assert written(page(), read(page())[1]) == page()


@pytest.mark.real_agent
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.title)
@played("features.play")
def test_an_agent_does_what_the_page_says(seen: Json, feature: Feature) -> None:
    rows, columns = read(page())
    documented = dict(zip(rows, columns[seen["status"]["version"]], strict=True))
    assert feature.verdict(seen) == documented[feature.title], json.dumps(seen, indent=1)


def unseen(found: Any) -> Any:
    """The same findings if nothing had worked, and nothing had been refused."""
    if isinstance(found, dict):
        return {name: None if name == "error" else unseen(each) for name, each in found.items()}
    if isinstance(found, list):
        return [unseen(each) for each in found]
    return False if isinstance(found, bool) else ""


@pytest.mark.real_agent
@played("features.play")
def test_nothing_that_was_not_seen_is_said_to_work(seen: Json) -> None:
    assert {feature.verdict(unseen(seen)) for feature in FEATURES} <= {NO, NONE}


@pytest.mark.real_agent
@played("features.play")
def test_the_whole_agent_was_killed_with_the_servers_that_it_had_started(seen: Json) -> None:
    assert "python" in seen["after-kill"]["killed"]
    assert len(seen["after-kill"]["killed"]) > 1


@pytest.mark.real_agent
@played("features.play")
def test_nothing_is_left_running_when_the_kernel_has_ended(seen: Json) -> None:
    """Two Pythons stay: the first process of the namespace, and the one that looks."""
    assert len(seen["programs"]["before"]) > 3
    assert [name[:6] for name in seen["programs"]["after"]] == ["python", "python"]


@pytest.mark.real_agent
@played("features.play")
def test_servers_are_listed_without_secrets_and_kept_from_other_users_for_as_long_as_they_are_used(seen: Json) -> None:
    assert "GREETING=•••" in seen["%mcp"]["text"]
    assert "hello" not in seen["%mcp"]["text"]
    assert seen["%mcp"]["files"] == (["0o600"] if seen["agent"] == COPILOT.name else [])
    assert seen["files left"] == []
