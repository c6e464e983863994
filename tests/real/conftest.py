"""What the tests of this folder need: a namespace, installed agents, one cache of unpacked programs for all of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from . import namespace
from .agents import Agent


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
def installed() -> Callable[[Agent], Agent]:
    """The agent itself, if it is installed."""

    def check(agent: Agent) -> Agent:
        if agent.find() is None:
            lacking(agent.missing())
        return agent

    return check


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where agents unpack themselves (Copilot: 245 MB) once for a whole run of the tests."""
    return tmp_path_factory.mktemp("cache")
