"""A session of the real Copilot CLI, played inside a namespace; see `record.py`."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from ..real import model
from ..real.agents import FILE, PROJECT, Agent
from ..real.client import Client, started
from ..real.record import SUB_AGENT

PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"


def play(agent: Agent) -> dict[str, Any]:
    """The events of its log."""
    home = Path(os.environ["HOME"])
    with model.running() as scripted:
        asyncio.run(_converse(agent, home, scripted.url))
    (log,) = (home / "copilot" / "session-state").glob("*/events.jsonl")
    return {"events": [json.loads(line) for line in log.read_text().splitlines()]}


async def _converse(agent: Agent, home: Path, url: str) -> None:
    """Every kind of turn, then a second process that goes on with the session."""
    env = agent.configure(home, url)
    async with started(agent, home, env) as client:
        await client.open()
        await tools(client)
        await beside_tools(client)
    async with started(agent, home, env) as again:
        again.session = client.session
        await again.request("initialize", protocolVersion=1, clientCapabilities={})
        await again.request("session/load", sessionId=client.session, cwd=str(client.project), mcpServers=[])
        await again.ask({"say": "I am here again."})


async def tools(client: Client) -> None:
    """A thought, an edit, a command that fails, and a refusal."""
    await client.ask({"think": "I look at the question first.", "say": "There are **three lines** of notes."})
    change = {"call": [("edit", FILE, "two", "TWO")]}
    await client.ask({"say": "I read.", "call": [("read", FILE)]}, change, {"say": "Changed."})
    await client.ask({"call": [("create", f"{PROJECT}/new.txt", "hello\n")]}, {"say": "Created."})
    await client.ask({"call": [("shell", "echo counted; exit 3")]}, {"say": "It ended."})
    refused = {"call": [("edit", FILE, "three", "THREE")]}
    await client.ask(refused, {"say": "Never shown."}, answers=("reject_once",))


async def beside_tools(client: Client) -> None:
    """A picture, another mode, a sub-agent, a shorter context, a model that refuses, a cancel."""
    await client.ask({"say": "A red dot."}, image=True)
    await client.request("session/set_mode", sessionId=client.session, modeId=PLAN)
    await client.ask({"say": "In plan mode."})
    await client.ask(SUB_AGENT, {"say": "It is done."})
    await client.prompt([{"type": "text", "text": "/compact"}])
    await client.ask({"refuse": 400})
    await client.ask({"say": "Half an answer", "hang": True}, stop_at="Half an")
