"""Agents that work in a project."""

import tempfile
from pathlib import Path

import pytest

from .project import Agent, close, commit, git, make, unprivileged


@pytest.fixture
def root(tmp_path):
    make(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def agent(root, tmp_path):
    agent = Agent(root, tmp_path / "state")
    yield agent
    agent.undo.close()


@pytest.fixture
async def closed():
    """An agent in a git work tree with folders and a file that cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder, "project"), Path(folder, "state")
        make(root, **dict.fromkeys(("new/secret/mine", "empty/secret/mine", "mine"), b"mine"))
        commit(root)
        git(root, "rm", "-rq", "--cached", "new", "empty")
        state.mkdir()
        with unprivileged(Path(folder)):
            agent = Agent(root, state)
            close(root, 0)
            yield agent
            close(root, 0o755)
            agent.undo.close()
