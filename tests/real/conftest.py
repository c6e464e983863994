"""What the tests of this folder need: a namespace, installed agents, one cache of unpacked programs for all of them.

What is played with an agent is played once, and two at a time: agents are slow to start, and mostly wait.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from . import namespace
from .agents import AGENTS, INSTALL, Agent
from .plays import Play


def played(name: str, *agents: Agent, words: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """Of a test that gets what came of a play as `seen`; with every agent, or with these."""
    plays = [Play(f"real.{name}", agent, words) for agent in agents or AGENTS.values()]
    return pytest.mark.parametrize("seen", plays, indirect=True, ids=lambda play: play.agent.name)


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
def begun(
    request: pytest.FixtureRequest, isolated: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Play, Future[Any]]]:
    """All that the tests of this run want of installed agents. They unpack themselves (Copilot: 245 MB) only once."""
    parameters = (getattr(getattr(item, "callspec", None), "params", {}).get("seen") for item in request.session.items)
    wanted = dict.fromkeys(play for play in parameters if isinstance(play, Play) and play.agent.find())
    cache = tmp_path_factory.mktemp("cache")
    with ThreadPoolExecutor(2) as pool:
        yield {play: pool.submit(play.perform, tmp_path_factory.mktemp(play.agent.name), cache) for play in wanted}
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def seen(request: pytest.FixtureRequest) -> Any:
    """What came of the play; see `played`."""
    play: Play = request.param
    if play.agent.find() is None:
        lacking(f"{play.agent} is not installed: {INSTALL}")
    return request.getfixturevalue("begun")[play].result()
