"""The page of the agents says what the tests see."""

import json
from pathlib import Path
from typing import Any

import pytest

from .agents import PEERS
from .conftest import EVERY_AGENT
from .features import FEATURES, NO, NONE, column, version
from .table import PAGE, read, written

Json = dict[str, Any]
PACKAGES = ("@github/copilot", "opencode-ai", "@google/gemini-cli")
PORT = -1
"""The row of the agents that listen on a port."""


def page() -> str:
    return PAGE.read_text("utf-8")


def test_the_page_has_a_row_for_each_feature_and_a_column_for_each_agent() -> None:
    rows, columns = read(page())
    pins = json.loads(Path(PEERS.parent, "package.json").read_text())["dependencies"]
    assert rows == [feature.title for feature in FEATURES]
    assert [name.split()[-1] for name in columns] == [pins[package] for package in PACKAGES]
    assert all(all(column) for column in columns.values())


def test_the_page_is_as_its_command_writes_it() -> None:
    assert written(page(), read(page())[1]) == page()


@pytest.mark.real_agent
@pytest.mark.timeout(300)
def test_an_agent_has_the_column_that_was_seen(findings: Json) -> None:
    told = read(page())[1].get(version(findings), [])
    assert told[:PORT] == column(findings)[:PORT]


def unseen(found: Any) -> Any:
    """The same findings if nothing had worked, and nothing had been refused."""
    if isinstance(found, dict):
        return {name: None if name == "error" else unseen(each) for name, each in found.items()}
    if isinstance(found, list):
        return [unseen(each) for each in found]
    return False if isinstance(found, bool) else ""


@pytest.mark.real_agent
@pytest.mark.timeout(300)
def test_nothing_that_was_not_seen_is_said_to_work(findings: Json) -> None:
    assert {*column(unseen(findings))} <= {NO, NONE}


@pytest.mark.real_agent
@pytest.mark.timeout(300)
def test_an_agent_that_listens_is_said_to_serve_several_notebooks(listening_agent: Json) -> None:
    assert FEATURES[PORT].verdict({"listening": listening_agent}) == "yes"
    assert [each[PORT] for each in read(page())[1].values()] == [
        "yes" if agent.listen else NONE for agent in EVERY_AGENT
    ]
