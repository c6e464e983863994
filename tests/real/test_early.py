"""Agents that are only initialized, in a folder that names servers and hooks: what they ran and kept."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from . import model
from .agents import COPILOT, GEMINI, Agent, Json
from .driver import started
from .recorder import Recorder

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]

MARKING = ("gemini", "mcp", "github-mcp", "vscode", "hook")


def plant(project: Path) -> None:
    """What agents read in a folder, each with a command that makes a mark in `ran`."""
    (project / "ran").mkdir(parents=True)
    marks = {name: f"touch '{project / 'ran' / name}'" for name in MARKING}
    servers: dict[str, Json] = {name: {"command": "sh", "args": ["-c", mark]} for name, mark in marks.items()}
    for path, settings in {
        ".gemini/settings.json": {"mcpServers": {"m": servers["gemini"]}},
        ".mcp.json": {"mcpServers": {"m": {"type": "local", "tools": ["*"], **servers["mcp"]}}},
        ".github/mcp.json": {"mcpServers": {"m": {"type": "local", "tools": ["*"], **servers["github-mcp"]}}},
        ".vscode/mcp.json": {"servers": {"m": servers["vscode"]}},
        ".github/hooks/h.json": {"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": marks["hook"]}]}},
    }.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(json.dumps(settings))


async def _initialize(agent: Agent, home: Path, url: str) -> Json:
    """`ran`: the marks; `sessions`: folders of sessions in the home of Copilot."""
    project = home / "project"
    plant(project)
    env = {**os.environ, **agent.configure(home, url)}
    async with started(agent.command(), env, project, Recorder(), home / "errors.txt") as driver:
        await driver.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    sessions = sorted(path.name for path in home.glob("copilot/session-state/*"))
    return {"ran": sorted(os.listdir(project / "ran")), "sessions": sessions}


def play(agent: Agent) -> Json:
    with model.running() as scripted:
        return asyncio.run(_initialize(agent, Path(os.environ["HOME"]), scripted.url))


# -- tests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("initialized", [COPILOT], ids=str, indirect=True)
def test_copilot_runs_nothing_and_keeps_no_session(initialized: Json) -> None:
    assert initialized == {"ran": [], "sessions": []}


@pytest.mark.parametrize("initialized", [GEMINI], ids=str, indirect=True)
def test_gemini_starts_the_servers_that_the_folder_names(initialized: Json) -> None:
    assert initialized["ran"] == ["gemini"]
