"""A plain ACP client with a real agent: prompts, answers to questions, and everything that was said.

It knows nothing of our kernel, so that what it records is the agent's own behaviour.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.connection import Connection

from ..limits import LIMIT
from .agents import NOTES, Agent
from .tools import RED_DOT

Json = dict[str, Any]
LONGEST_LINE = 64 * 2**20
CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}
QUESTION = "session/request_permission"


class Client:
    """One connection to one agent. `records` are both sides of it, in order.

    `answers` to questions, in turn, are a kind of option, `later` (allowed when another one was) or `cancel`, which
    cancels the prompt.
    """

    def __init__(self, agent: Agent, process: asyncio.subprocess.Process, project: Path) -> None:
        self.agent, self.project, self.session = agent, project, ""
        self.records: list[Json] = []
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._answers, self._answered, self._changed = cycle(["allow_once"]), asyncio.Event(), asyncio.Condition()
        self._connection = Connection(self._handle, self)

    # -- lines of JSON: a transport of the connection --

    async def send(self, message: Json) -> None:
        self.records.append({"from": "client", "message": message})
        self._in.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> Json | None:
        """None at the end of what the agent says."""
        if not (line := await self._out.readline()):
            return None
        message: Json = json.loads(line)
        self.records.append({"from": "agent", "message": message})
        async with self._changed:
            self._changed.notify_all()
        return message

    async def close(self) -> None:
        """Standard input closed, then TERM, then KILL, for the whole process group."""
        self._in.close()
        for end in (signal.SIGTERM, signal.SIGKILL):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), LIMIT)
                break
            os.killpg(self._process.pid, end)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.wait_for(self._process.wait(), LIMIT)

    # -- the conversation --

    async def request(self, method: str, **params: Any) -> Json:
        """Raises RequestError for an error answer, TimeoutError, ConnectionError when the agent ends."""
        async with asyncio.timeout(LIMIT):
            return await self._connection.send_request(method, params) or {}

    async def open(self, *servers: Json) -> None:
        """initialize and session/new with these MCP servers."""
        client = {"name": "transcript-recorder", "title": "Transcript recorder", "version": "1.0.0"}
        await self.request("initialize", protocolVersion=1, clientInfo=client, clientCapabilities={})
        created = await self.request("session/new", cwd=str(self.project), mcpServers=[*servers])
        self.session = created["sessionId"]

    async def ask(
        self, *steps: Json, note: str = "", image: bool = False, answers: tuple[str, ...] = ("allow_once",),
        stop_at: str = "",
    ) -> None:  # fmt: skip
        """One turn that follows the script; cancelled when an update shows `stop_at`."""
        self._answers = cycle(answers)
        blocks = [{"type": "text", "text": self.agent.prompt(self.project, *steps, note=note)}]
        blocks += [{"type": "image", "mimeType": "image/png", "data": RED_DOT}] if image else []
        turn = asyncio.create_task(self.prompt(blocks))
        if stop_at:
            await self._until(stop_at)
            await self._cancel()
        await turn

    async def prompt(self, blocks: list[Json]) -> None:
        await self.request("session/prompt", sessionId=self.session, prompt=blocks)

    async def _until(self, words: str) -> None:
        """Wait until an update of the agent shows them."""
        async with asyncio.timeout(LIMIT), self._changed:
            await self._changed.wait_for(lambda: any(words in _shown(each["message"]) for each in self.records))

    async def _cancel(self) -> None:
        await self._connection.send_notification("session/cancel", {"sessionId": self.session})

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Json | None:
        if is_notification:
            return None
        if method != QUESTION:
            raise RequestError.method_not_found(method)
        kind = next(self._answers)
        if kind == "cancel":
            await self._cancel()
            return CANCELLED
        if kind == "later":
            await self._answered.wait()
        self._answered.set()
        wanted = "allow_once" if kind == "later" else kind
        chosen = next(option for option in params["options"] if option["kind"] == wanted)
        return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}


def _shown(message: Json) -> str:
    return json.dumps(message.get("params", {}).get("update", {}).get("content"))


@asynccontextmanager
async def started(agent: Agent, home: Path, env: Mapping[str, str]) -> AsyncIterator[Client]:
    """A client with an agent that runs until the block ends, in `project` of a home; its errors go to a file there."""
    project, pipe = home / "project", asyncio.subprocess.PIPE
    project.mkdir(parents=True, exist_ok=True)
    (project / "notes.txt").write_text(NOTES)
    with (home / "errors.txt").open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *agent.command(), stdin=pipe, stdout=pipe, stderr=stderr, env={**os.environ, "HOME": str(home), **env},
            cwd=project, limit=LONGEST_LINE, start_new_session=True,
        )  # fmt: skip
    client = Client(agent, process, project)
    try:
        yield client
    finally:
        await client.close()
