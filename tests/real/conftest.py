"""What the tests of this folder need: a namespace, installed agents, one cache of unpacked programs for all of them.

What is played with an agent is played once, and two at a time: agents are slow to start, and mostly wait.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from . import namespace, played, plays
from .agents import AGENTS, COPILOT, Agent

EVERY_AGENT = [*AGENTS.values()]
LISTENING = [agent for agent in EVERY_AGENT if agent.listen]
NAMES = ("scenes", *plays.MODULES)
"""Of fixtures: each gives what came of the play of that name."""


def lacking(reason: str) -> None:
    """Skip for a developer; fail in CI, where nothing may be skipped."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def isolated() -> None:
    """There can be namespaces here."""
    if reason := namespace.unavailable():
        lacking(reason)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where agents unpack themselves (Copilot: 245 MB) once for a whole run of the tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def begun(
    request: pytest.FixtureRequest, isolated: None, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str], Future[Any]]]:
    """All that the tests of this run want, begun; by the names of the fixture and of the agent."""
    wanted = dict.fromkeys(play for item in request.session.items for play in _wanted(item))
    with ThreadPoolExecutor(2) as pool:
        yield {
            (name, agent): pool.submit(_perform, name, AGENTS[agent], tmp_path_factory.mktemp(agent), cache)
            for name, agent in wanted
        }
        pool.shutdown(cancel_futures=True)


def _wanted(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """Of agents that are installed."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return ((name, agent.name) for name, agent in parameters.items() if name in NAMES and agent.find())


def _played(request: pytest.FixtureRequest) -> Any:
    """For a fixture whose parameter is an agent."""
    agent: Agent = request.param
    if agent.find() is None:
        lacking(agent.missing())
    return request.getfixturevalue("begun")[request.fixturename, agent.name].result()


def _perform(name: str, agent: Agent, home: Path, cache: Path) -> Any:
    return played.perform(agent, home, cache) if name == "scenes" else plays.perform(name, agent, home, cache)


scenes = pytest.fixture(_played, params=EVERY_AGENT, ids=str)  # with a client that knows nothing of our kernel
findings = pytest.fixture(_played, params=EVERY_AGENT, ids=str)  # what a reader saw in each cell of a notebook
listening_agent = pytest.fixture(_played, params=LISTENING, ids=str)
shared_agent = pytest.fixture(_played, params=[COPILOT], ids=str)
api = pytest.fixture(_played, params=EVERY_AGENT, ids=str)
magic_cells = pytest.fixture(_played, params=[COPILOT], ids=str)
socket_frames = pytest.fixture(_played, params=[COPILOT], ids=str)
confined_turns = pytest.fixture(_played, params=EVERY_AGENT, ids=str)
initialized = pytest.fixture(_played, params=[COPILOT], ids=str)
denied = pytest.fixture(_played, params=[COPILOT], ids=str)
