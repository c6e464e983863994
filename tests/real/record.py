"""Play scenes with real agents and keep what was said: `python -m tests.real.record [AGENT[/SCENE] ...]`.

In a transcript, what a machine or a day puts into a message (paths, ids, times) is replaced by neutral words, the same
one wherever the same value stood, so that a replay still fits together.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError

from . import model
from .agents import AGENTS, FILE, PEERS, PROGRESS, PROJECT, Agent
from .client import Client, started
from .model import prompt
from .plays import SECONDS, Play

Json = dict[str, Any]
TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
LONG_LISTS = ("availableCommands", "availableModels", "options")
LONGEST_LIST, KEPT = 8, 3

# -- scenes ---------------------------------------------------------------------------------------------------------

ANSWER = "The project holds **three lines** of notes.\n\n```python\nprint('ready')\n```\n\n- first\n- second\n"
LOOK: Json = {"call": [("read", FILE)]}
"""Some agents refuse to edit a file that they have not read."""
CHANGE: Json = {"say": "I change the second line.", "call": [("edit", FILE, "two", "TWO")]}
CREATE: Json = {"call": [("create", f"{PROJECT}/new.py", "print('new')\n")]}
RUN: Json = {"say": "I run it.", "call": [("shell", "echo counted; echo warned >&2; exit 3")]}
_LOOKER = (
    {"say": "I look.", "call": [("view", {"path": FILE})]},
    {"call": [("bash", {"command": "echo counted", "description": "Run a command"})]},
    {"say": "Three lines."},
)
_TASK = {"agent_type": "general-purpose", "name": "looker", "description": "Look at the notes"}
SUB_AGENT: Json = {
    "say": "I ask another.",
    "call": [("task", {**_TASK, "prompt": prompt(*_LOOKER, name="looker"), "mode": "sync"})],
}


async def two_turns(client: Client) -> None:
    await client.ask({"say": "Noted."}, note="the colour is blue")
    await client.ask({"recall": True}, note="the number is seven")


SCENES: dict[str, Callable[[Client], Awaitable[None]]] = {
    "text": lambda client: client.ask({"think": "I look at the question first.", "say": ANSWER}),
    "plan": lambda client: client.ask(*({"call": [("plan", first)]} for first in PROGRESS), {"say": "Planned."}),
    "image": lambda client: client.ask({"say": "A red dot."}, image=True),
    "edit-allowed": lambda client: client.ask(LOOK, CHANGE, {"say": "Changed."}),
    "edit-rejected": lambda client: client.ask(LOOK, CHANGE, {"say": "Not changed."}, answers=("reject_once",)),
    "create": lambda client: client.ask(CREATE, {"say": "Created."}),
    "shell": lambda client: client.ask(RUN, {"say": "It ended with 3."}),
    # two questions open at once, the second answered first
    "parallel": lambda client: client.ask(
        {"say": "Both at once.", "call": [("shell", "echo left"), ("shell", "echo right")]},
        {"say": "Both ran."},
        answers=("later", "allow_once"),
    ),
    "cancel-text": lambda client: client.ask(
        {"say": "This answer has no end, and", "hang": True}, stop_at="This answer has"
    ),
    "cancel-shell": lambda client: client.ask(
        {"call": [("shell", "echo begun; sleep 50; echo never")]}, {"say": "Never said."}, stop_at="begun\\n"
    ),
    "cancel-question": lambda client: client.ask(
        {"call": [("shell", "touch never")]}, {"say": "Never said."}, answers=("cancel",)
    ),
    "two-turns": two_turns,
    # reads and searches in a row, of which the last fails; then changes, and a command that fails
    "lookups": lambda client: client.ask(
        {
            "say": "I look around.",
            "call": [("read", FILE), ("grep", {"pattern": "two"}), ("glob", {"pattern": "*.txt"})],
        },
        {"call": [("read", f"{PROJECT}/gone.txt")]},
        {"call": [("edit", FILE, "two", "TWO")]},
        CREATE,
        {"call": [("shell", "python3 -c 'import nothing'")]},
        {"say": "Two files are changed; there is no module of that name."},
    ),
    # a tool of an MCP server that the client names
    "mcp": lambda client: client.ask(
        {"say": "I draw.", "call": [("lab-draw_lab", {})]},
        {"say": "Once more.", "call": [("lab-draw_lab", {})]},
        answers=("allow_once", "reject_once"),
    ),
    "sub-agent": lambda client: client.ask(SUB_AGENT, {"say": "All done."}),
    "model-fails": lambda client: client.ask({"say": "I look first.", **LOOK}, {"refuse": 500}),
}


async def perform(agent: Agent, scene: str, home: Path, url: str) -> list[Json]:
    """One scene with a fresh agent, project and home: the records. A scene `signed-out` gets no model."""
    servers = [{"type": "http", "name": "lab", "url": f"{url}/mcp/lab", "headers": []}] if scene == "mcp" else []
    env = {} if scene == "signed-out" else agent.configure(home, url)
    async with asyncio.timeout(SECONDS), started(agent, home, env) as client:
        if scene == "signed-out":
            with pytest.raises(RequestError):
                await client.open()
        else:
            await client.open(*servers)
            await SCENES[scene](client)
    return client.records


def play(agent: Agent, *scenes: str) -> Json:
    """The lines of each scene's transcript."""
    written = {}
    with model.running() as scripted:
        for number, scene in enumerate(scenes):
            home = Path(os.environ["HOME"]) / str(number)
            records = asyncio.run(perform(agent, scene, home, scripted.url))
            lines = [json.dumps({**each, "message": _shortened(each["message"])}) for each in records]
            modules = {str(PEERS.resolve()): "/usr/lib/node_modules"}
            places = {str(home / "project"): "/project", str(home): "/home/user", **modules}
            written[scene] = neutral("\n".join(lines) + "\n", places)
    return written


# -- neutral words --------------------------------------------------------------------------------------------------

_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TOKEN = re.compile(r"\b(ses|msg|prt|call|per|toolu)_[0-9a-zA-Z]{16,}\b")
_TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_MILLISECONDS = re.compile(r"\b1[789]\d{11}\b")
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost):\d+")


def neutral(text: str, places: Mapping[str, str]) -> str:
    """The same text without traces of the machine and the day it was recorded on.

    `places` says which real path becomes which neutral one.
    """
    for real in sorted(places, key=len, reverse=True):
        text = text.replace(real, places[real]).replace(real.removeprefix("/"), places[real].removeprefix("/"))
    text = _numbered(_UUID, text, lambda number, _: f"00000000-0000-4000-8000-{number:012d}")
    text = _numbered(_TOKEN, text, lambda number, found: f"{found[1]}_{number:04d}")
    text = _TIME.sub("2026-01-01T00:00:00.000Z", text)
    text = _MILLISECONDS.sub("1767225600000", text)
    return _LOOPBACK.sub(r"\1:8080", text)


def _numbered(pattern: re.Pattern[str], text: str, name: Any) -> str:
    names: dict[str, str] = {}
    return pattern.sub(lambda found: names.setdefault(found[0], name(len(names) + 1, found)), text)


def _shortened(value: Any) -> Any:
    """Long lists of commands, models and options keep their shape, their first members and the chosen one."""
    if isinstance(value, dict):
        chosen = {value.get("currentValue"), value.get("currentModelId")}
        return {key: _shortened(_few(key, member, chosen)) for key, member in value.items()}
    return [_shortened(member) for member in value] if isinstance(value, list) else value


def _few(key: str, value: Any, chosen: set[Any]) -> Any:
    if key not in LONG_LISTS or len(value) <= LONGEST_LIST:
        return value
    chosen_ones = [member for member in value[KEPT:] if {member.get("value"), member.get("modelId")} & chosen - {None}]
    return value[:KEPT] + chosen_ones


def main(*wishes: str) -> None:
    """Record everything wished for (AGENT or AGENT/SCENE; nothing means all that is installed)."""
    for agent in AGENTS.values():
        chosen = [scene for scene in agent.scenes if not wishes or {agent.name, f"{agent.name}/{scene}"} & {*wishes}]
        if not chosen or (agent.find() is None and not wishes):
            continue
        with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as home:  # short: agents cut long paths in titles
            written = Play("real.record.play", agent, tuple(chosen)).perform(Path(home), Path(home) / "cache")
        for scene, text in written.items():
            (TRANSCRIPTS / f"{agent.name}-{scene}.jsonl").write_text(text)
            print(f"{agent.name}-{scene}: {text.count(chr(10))} messages, {len(text)} characters", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
