"""What is played with a real agent, once for the recordings and once for the tests of this harness.

A scene is a coroutine that gets a running agent and a project folder with `notes.txt` in it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import tools
from .agents import Agent
from .driver import CANCELLED, Driver, Refused, choose
from .model import prompt

Json = dict[str, Any]
NOTES = "one\ntwo\nthree\n"
RED_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="


@dataclass(slots=True)
class Stage:
    """A running agent, its project folder, and the session once there is one."""

    agent: Agent
    driver: Driver
    project: Path
    session: str = ""

    @property
    def notes(self) -> Path:
        return self.project / "notes.txt"

    async def open(self, *servers: Json) -> None:
        """initialize and session/new with these MCP servers."""
        client = {"name": "transcript-recorder", "title": "Transcript recorder", "version": "1.0.0"}
        await self.driver.request("initialize", {"protocolVersion": 1, "clientInfo": client, "clientCapabilities": {}})
        created = await self.driver.request("session/new", {"cwd": str(self.project), "mcpServers": [*servers]})
        self.session = created["sessionId"]

    async def ask(self, *steps: Json, note: str = "", image: bool = False) -> Json:
        """One turn that follows the script; the answer to `session/prompt`."""
        return await self.driver.request("session/prompt", self._turn(steps, note, image))

    def start(self, *steps: Json) -> Awaitable[Json]:
        """The same without waiting for its end; the whole answer."""
        return self.driver.start("session/prompt", self._turn(steps, "", False))

    def cancel(self) -> None:
        self.driver.notify("session/cancel", {"sessionId": self.session})

    def _turn(self, steps: tuple[Json, ...], note: str, image: bool) -> Json:
        blocks = [{"type": "text", "text": prompt(*steps, note=note)}]
        blocks += [{"type": "image", "mimeType": "image/png", "data": RED_DOT}] if image else []
        return {"sessionId": self.session, "prompt": blocks}


async def text(stage: Stage) -> None:
    answer = "The project holds **three lines** of notes.\n\n```python\nprint('ready')\n```\n\n- first\n- second\n"
    await stage.open()
    await stage.ask({"think": "I look at the question first.", "say": answer})


async def plan(stage: Stage) -> None:
    await stage.open()
    await stage.ask(*({"call": [call]} for call in stage.agent.plan), {"say": "Planned."})


async def image(stage: Stage) -> None:
    await stage.open()
    await stage.ask({"say": "A red dot."}, image=True)


async def edit_allowed(stage: Stage) -> None:
    await stage.open()
    change = stage.agent.edit(stage.notes, "two", "TWO")
    await stage.ask(*_looking_first(stage, {"say": "I change the second line.", "call": [change]}, {"say": "Changed."}))


async def edit_rejected(stage: Stage) -> None:
    stage.driver.answer = choose("reject_once")
    await stage.open()
    change = stage.agent.edit(stage.notes, "two", "TWO")
    await stage.ask(
        *_looking_first(stage, {"say": "I change the second line.", "call": [change]}, {"say": "Not changed."})
    )


def _looking_first(stage: Stage, *steps: Json) -> tuple[Json, ...]:
    """Some agents refuse to edit a file that they have not read."""
    return ({"call": [stage.agent.read(stage.notes)]}, *steps)


async def create(stage: Stage) -> None:
    await stage.open()
    new = stage.agent.create(stage.project / "new.py", "print('new')\n")
    await stage.ask({"call": [new]}, {"say": "Created."})


async def shell(stage: Stage) -> None:
    await stage.open()
    command = stage.agent.shell("echo counted; echo warned >&2; exit 3")
    await stage.ask({"say": "I run it.", "call": [command]}, {"say": "It ended with 3."})


async def parallel(stage: Stage) -> None:
    """Two questions open at once, the second answered first."""
    stage.driver.answer = lambda params: None
    await stage.open()
    calls = [stage.agent.shell("echo left"), stage.agent.shell("echo right")]
    turn = stage.start({"say": "Both at once.", "call": calls}, {"say": "Both ran."})
    await stage.driver.until(lambda _: len(stage.driver.questions) == 2)
    for question in reversed(stage.driver.questions):
        stage.driver.reply(question, choose("allow_once")(question["params"]) or {})
    await turn


async def cancel_text(stage: Stage) -> None:
    await stage.open()
    turn = stage.start({"say": "This answer has no end, and", "hang": True})
    await stage.driver.until(lambda _: _said(stage.driver.updates).startswith("This answer has"))
    stage.cancel()
    await turn


def _said(updates: list[Json]) -> str:
    chunks = (update for update in updates if update["sessionUpdate"] == "agent_message_chunk")
    return "".join(chunk["content"].get("text", "") for chunk in chunks)


async def cancel_shell(stage: Stage) -> None:
    await stage.open()
    turn = stage.start({"call": [stage.agent.shell("echo begun; sleep 50; echo never")]}, {"say": "Never said."})
    await stage.driver.until(lambda message: _shows(message, "begun\n"))
    stage.cancel()
    await turn


async def cancel_question(stage: Stage) -> None:
    stage.driver.answer = lambda params: None
    await stage.open()
    turn = stage.start({"call": [stage.agent.shell("touch never")]}, {"say": "Never said."})
    await stage.driver.until(lambda _: bool(stage.driver.questions))
    stage.cancel()
    stage.driver.reply(stage.driver.questions[0], CANCELLED)
    await turn


def _shows(message: Json, words: str) -> bool:
    """Does this tool call update show these words as output?"""
    update = message.get("params", {}).get("update", {})
    shown = (part.get("content", {}).get("text", "") for part in update.get("content") or [] if isinstance(part, dict))
    return update.get("sessionUpdate") == "tool_call_update" and any(text.endswith(words) for text in shown)


async def two_turns(stage: Stage) -> None:
    await stage.open()
    await stage.ask({"say": "Noted."}, note="the colour is blue")
    await stage.ask({"recall": True}, note="the number is seven")


async def signed_out(stage: Stage) -> None:
    try:
        await stage.open()
    except Refused:
        return
    raise AssertionError("the agent opened a session without being signed in")


async def lookups(stage: Stage) -> None:
    """Reads and searches in a row, of which the last fails; then changes, and a command that fails."""
    agent, gone = stage.agent, stage.project / "gone.txt"
    await stage.open()
    searches = [("grep", {"pattern": "two"}), ("glob", {"pattern": "*.txt"})]
    await stage.ask(
        {"say": "I look around.", "call": [agent.read(stage.notes), *searches]},
        {"call": [agent.read(gone)]},
        {"call": [agent.edit(stage.notes, "two", "TWO")]},
        {"call": [agent.create(stage.project / "new.py", "print('new')\n")]},
        {"call": [agent.shell("python3 -c 'import nothing'")]},
        {"say": "Two files are changed; there is no module of that name."},
    )


async def mcp(stage: Stage) -> None:
    """A tool of an MCP server that the client names, called twice, of which the second call is denied."""
    kinds = iter(("allow_once", "reject_once"))
    stage.driver.answer = lambda params: choose(next(kinds))(params)
    with tools.serving("lab") as url:
        await stage.open({"type": "http", "name": "lab", "url": url, "headers": []})
        await stage.ask(
            {"say": "I draw.", "call": [("lab-draw_lab", {})]}, {"say": "Once more.", "call": [("lab-draw_lab", {})]}
        )


async def sub_agent(stage: Stage) -> None:
    """Another agent, which reads and runs something, and says so."""
    inner = prompt(
        {"say": "I look.", "call": [stage.agent.read(stage.notes)]},
        {"call": [stage.agent.shell("echo counted")]},
        {"say": "Three lines."},
        name="looker",
    )
    task = {"agent_type": "general-purpose", "name": "looker", "description": "Look at the notes", "prompt": inner}
    await stage.open()
    await stage.ask({"say": "I ask another.", "call": [("task", {**task, "mode": "sync"})]}, {"say": "All done."})


async def model_fails(stage: Stage) -> None:
    """After a read, its model answers nothing but HTTP 500."""
    await stage.open()
    await stage.ask({"say": "I look first.", "call": [stage.agent.read(stage.notes)]}, {"refuse": 500})


Scene = Callable[[Stage], Awaitable[None]]
SCENES: dict[str, Scene] = {
    "text": text,
    "plan": plan,
    "image": image,
    "edit-allowed": edit_allowed,
    "edit-rejected": edit_rejected,
    "create": create,
    "shell": shell,
    "parallel": parallel,
    "cancel-text": cancel_text,
    "cancel-shell": cancel_shell,
    "cancel-question": cancel_question,
    "two-turns": two_turns,
    "signed-out": signed_out,
    "lookups": lookups,
    "mcp": mcp,
    "sub-agent": sub_agent,
    "model-fails": model_fails,
}
