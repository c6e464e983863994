"""Sandboxes need bubblewrap, and namespaces that are allowed; a project, and conversations in a sandbox there."""

import os
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from copilot_kernel import chat as chats
from copilot_kernel.config import Settings
from copilot_kernel.sandbox.probe import SandboxUnavailable, find_tools, try_bubblewrap

from ..real.agents import INSTALL, PEERS
from ..undo.project import git


@pytest.fixture(scope="session")
def bubblewrap() -> str:
    """The program; skips where there can be no sandbox, which fails in CI."""
    try:
        program = find_tools(None, os.environ).bubblewrap
        try_bubblewrap(program)
    except SandboxUnavailable as error:
        pytest.skip(f"{error}. {error.hint}")
    return program


@pytest.fixture(scope="session")
def srt_path() -> str:
    """A PATH on which there is `srt`, with what it needs; skips where it is not installed, which fails in CI."""
    path = f"{os.environ['PATH']}:{PEERS / '.bin'}"
    try:
        find_tools((), {"PATH": path})
    except SandboxUnavailable as error:
        pytest.skip(f"{error}. {error.hint}, or: {INSTALL}")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with instructions for agents."""
    git(tmp_path, "init", "project")
    folder = tmp_path / "project"
    (folder / "AGENTS.md").write_text("")
    (folder / "sub").mkdir()
    return folder


@pytest.fixture
def open_chat(project: Path, tmp_path: Path):
    @asynccontextmanager
    async def open_chat(sandbox: str = "required", **more):
        settings = Settings(
            agent="demo", cwd=str(project), state=str(tmp_path / "state"), terminal=True, sandbox=sandbox, **more
        )
        async with chats.open_chat(settings) as chat:
            yield chat

    return open_chat


@pytest.fixture
async def chat(request: pytest.FixtureRequest, bubblewrap: str, open_chat):
    """In a sandbox, with the settings that `chatting` says."""
    async with open_chat(**getattr(request, "param", {})) as chat:
        yield chat
