"""Agents that are only initialized, in a folder that names servers and hooks: what they ran and kept."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from . import model
from .agents import COPILOT, GEMINI, Agent, Json
from .client import started
from .conftest import played

pytestmark = pytest.mark.real_agent

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
    plant(home / "project")
    async with started(agent, home, agent.configure(home, url)) as client:
        await client.request("initialize", protocolVersion=1, clientCapabilities={})
    sessions = sorted(path.name for path in home.glob("copilot/session-state/*"))
    return {"ran": sorted(os.listdir(home / "project" / "ran")), "sessions": sessions}


def play(agent: Agent) -> Json:
    with model.running() as scripted:
        return asyncio.run(_initialize(agent, Path(os.environ["HOME"]), scripted.url))


# -- tests ----------------------------------------------------------------------------------------------------


@played("test_early.play", COPILOT)
def test_copilot_runs_nothing_and_keeps_no_session(seen: Json) -> None:
    assert seen == {"ran": [], "sessions": []}


@played("test_early.play", GEMINI)
def test_gemini_starts_the_servers_that_the_folder_names(seen: Json) -> None:
    assert seen["ran"] == ["gemini"]
