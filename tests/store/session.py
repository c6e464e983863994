"""A session of the real Copilot CLI, played inside a namespace: `python -m tests.store.session`.

It prints where the log is, and leaves it there for whoever called.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from ..limits import LIMIT
from ..real import model
from ..real.agents import COPILOT
from ..real.driver import choose, started
from ..real.model import prompt
from ..real.recorder import Recorder
from ..real.scenes import NOTES, Stage

PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"


def places(home: Path) -> tuple[Path, Path]:
    """The project, and the folder of the sessions."""
    return home / "project", home / "copilot" / "session-state"


async def play(home: Path, url: str) -> None:
    """Every kind of turn, then a second process that goes on with the session."""
    project, _ = places(home)
    project.mkdir(parents=True)
    (project / "notes.txt").write_text(NOTES)
    env = {**os.environ, **COPILOT.configure(home, url)}
    async with started(COPILOT.command(), env, project, Recorder(), home / "errors.txt") as driver:
        stage = Stage(COPILOT, driver, project)
        await stage.open()
        await tools(stage)
        await beside_tools(stage)
    async with started(COPILOT.command(), env, project, Recorder(), home / "errors-again.txt") as driver:
        again = Stage(COPILOT, driver, project, stage.session)
        client = {"protocolVersion": 1, "clientCapabilities": {}}
        await driver.request("initialize", client)
        await driver.request("session/load", {"sessionId": stage.session, "cwd": str(project), "mcpServers": []})
        await again.ask({"say": "I am here again."})


async def tools(stage: Stage) -> None:
    """A thought, an edit, a command that fails, and a refusal."""
    notes, agent = stage.notes, stage.agent
    await stage.ask({"think": "I look at the question first.", "say": "There are **three lines** of notes."})
    change = agent.edit(notes, "two", "TWO")
    await stage.ask({"say": "I read.", "call": [agent.read(notes)]}, {"call": [change]}, {"say": "Changed."})
    await stage.ask({"call": [agent.create(stage.project / "new.txt", "hello\n")]}, {"say": "Created."})
    await stage.ask({"call": [agent.shell("echo counted; exit 3")]}, {"say": "It ended."})
    stage.driver.answer = choose("reject_once")
    await stage.ask({"call": [agent.edit(notes, "three", "THREE")]}, {"say": "Never shown."})
    stage.driver.answer = choose("allow_once")


async def beside_tools(stage: Stage) -> None:
    """A picture, another mode, a sub-agent, a shorter context, a model that refuses, a cancel."""
    await stage.ask({"say": "A red dot."}, image=True)
    await stage.driver.request("session/set_mode", {"sessionId": stage.session, "modeId": PLAN})
    await stage.ask({"say": "In plan mode."})
    await say(stage, with_subagent(stage))
    await say(stage, "/compact")
    await stage.ask({"refuse": 400})
    half = stage.start({"say": "Half an answer", "hang": True})
    await stage.driver.until(lambda message: "Half an" in json.dumps(message.get("params", {}).get("update", "")))
    stage.cancel()
    await half


def with_subagent(stage: Stage) -> str:
    """The sub-agent gets a script of its own, which must not be taken for that of the prompt."""
    own = prompt({"say": "I look.", "call": [stage.agent.read(stage.notes)]}, {"say": "Three lines."})
    task = {"description": "Look at the notes", "prompt": "OWN", "agent_type": "general-purpose", "name": "looker"}
    whole = prompt({"say": "I hand it over.", "call": [["task", {**task, "mode": "sync"}]]}, {"say": "It is done."})
    return whole.replace("OWN", json.dumps(own)[1:-1].replace("SCRIPT:", "SCRIPT\\u003a"))


async def say(stage: Stage, text: str) -> None:
    await stage.driver.request(
        "session/prompt", {"sessionId": stage.session, "prompt": [{"type": "text", "text": text}]}
    )


def main() -> None:
    home = Path(os.environ["HOME"])
    with model.running() as scripted:
        asyncio.run(asyncio.wait_for(play(home, scripted.url), LIMIT))
    print(next(places(home)[1].glob("*/events.jsonl")))


if __name__ == "__main__":
    main()
