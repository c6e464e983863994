"""What the tests of this folder need: a namespace, installed agents, one cache of unpacked programs for all of them.

What is played with an agent is played once, and two at a time: agents are slow to start, and mostly wait.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from . import api as served
from . import chapters, confined, early, listening, magic, namespace, played, sharing, talking
from .agents import AGENTS, COPILOT, Agent
from .played import Played

Play = Callable[[Agent, Path, Path], Any]
Json = dict[str, Any]
EVERY_AGENT = [*AGENTS.values()]
LISTENING = [agent for agent in EVERY_AGENT if agent.listen]
PLAYS: dict[str, Play] = {
    "scenes": played.perform,
    "findings": chapters.perform,
    "listening_agent": listening.perform,
    "shared_agent": sharing.perform,
    "api": served.perform,
    "magic_cells": magic.perform,
    "socket_frames": talking.perform,
    "confined_turns": confined.perform,
    "initialized": early.perform,
}
"""By the name of the fixture that gives what came of it."""


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
def plays(
    request: pytest.FixtureRequest, isolated: None, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str], Future[Any]]]:
    """All that the tests of this run want, begun; by the names of the fixture and of the agent."""
    wanted = dict.fromkeys(play for item in request.session.items for play in _wanted(item))
    with ThreadPoolExecutor(2) as pool:
        yield {
            (name, agent): pool.submit(PLAYS[name], AGENTS[agent], tmp_path_factory.mktemp(agent), cache)
            for name, agent in wanted
        }
        pool.shutdown(cancel_futures=True)


def _wanted(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """Of agents that are installed."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return ((name, agent.name) for name, agent in parameters.items() if name in PLAYS and agent.find())


def _played(request: pytest.FixtureRequest) -> Any:
    """For a fixture whose parameter is an agent."""
    agent: Agent = request.param
    if agent.find() is None:
        lacking(agent.missing())
    return request.getfixturevalue("plays")[request.fixturename, agent.name].result()


@pytest.fixture(params=EVERY_AGENT, ids=str)
def scenes(request: pytest.FixtureRequest) -> dict[str, Played]:
    """All scenes of an agent, with a client that knows nothing of our kernel."""
    found: dict[str, Played] = _played(request)
    return found


@pytest.fixture(params=EVERY_AGENT, ids=str)
def findings(request: pytest.FixtureRequest) -> Json:
    """What a reader saw in each cell of an agent's notebook."""
    return {"agent": request.param.name, **_played(request)}


@pytest.fixture(params=LISTENING, ids=str)
def listening_agent(request: pytest.FixtureRequest) -> Json:
    """What two readers saw whose kernels are clients of one agent."""
    found: Json = _played(request)
    return found


@pytest.fixture(params=[COPILOT], ids=str)
def shared_agent(request: pytest.FixtureRequest) -> Json:
    """What three readers saw whose kernels share an agent."""
    found: Json = _played(request)
    return found


@pytest.fixture(params=EVERY_AGENT, ids=str)
def api(request: pytest.FixtureRequest) -> Json:
    """What clients of the API were told, and what the model was sent."""
    found: Json = _played(request)
    return found


@pytest.fixture(params=[COPILOT], ids=str)
def magic_cells(request: pytest.FixtureRequest) -> Json:
    """What a reader of a Python notebook saw."""
    found: Json = _played(request)
    return found


@pytest.fixture(params=[COPILOT], ids=str)
def socket_frames(request: pytest.FixtureRequest) -> Json:
    """What a client of the WebSocket was sent."""
    found: Json = _played(request)
    return found


@pytest.fixture(params=EVERY_AGENT, ids=str)
def confined_turns(request: pytest.FixtureRequest) -> Json:
    """What came of two conversations in a sandbox, of which the second resumes the first."""
    found: Json = _played(request)
    return found


@pytest.fixture(params=[COPILOT], ids=str)
def initialized(request: pytest.FixtureRequest) -> Json:
    """What an agent ran and kept that got no further than `initialize`."""
    found: Json = _played(request)
    return found
