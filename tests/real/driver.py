"""A plain ACP client for recordings: requests, answers to permission questions, and a log of every line.

It knows nothing of our kernel, so that what it records is the agent's own behaviour.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from ..limits import LIMIT
from .recorder import Recorder

Json = dict[str, Any]
Answer = Callable[[Json], Json | None]
LONGEST_LINE = 64 * 2**20


class Refused(Exception):
    """The agent answered with a JSON-RPC error."""

    def __init__(self, error: Json) -> None:
        super().__init__(json.dumps(error))
        self.error = error


def choose(kind: str) -> Answer:
    """Answer a question with the first option of this kind."""

    def answer(params: Json) -> Json:
        chosen = next(option for option in params["options"] if option["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}

    return answer


def asks(message: Json) -> bool:
    """Is this a permission request?"""
    return message.get("method") == "session/request_permission"


CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}


class Driver:
    """One connection to one agent process."""

    def __init__(self, process: asyncio.subprocess.Process, recorder: Recorder) -> None:
        assert process.stdin
        assert process.stdout
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self.recorder = recorder
        self.answer: Answer = choose("allow_once")
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._changed = asyncio.Condition()
        self._ended = False

    @property
    def updates(self) -> list[Json]:
        """What every `session/update` so far carried."""
        sent = (message for message in self.recorder.sent_by("agent") if message.get("method") == "session/update")
        return [message["params"]["update"] for message in sent]

    async def request(self, method: str, params: Json, seconds: float = LIMIT) -> Json:
        """Raises Refused for an error answer, TimeoutError, ConnectionError when the agent ends."""
        answer = self.start(method, params)
        async with asyncio.timeout(seconds):
            message = await answer
        if "error" in message:
            raise Refused(message["error"])
        result: Json = message["result"] or {}
        return result

    def start(self, method: str, params: Json) -> asyncio.Future[Json]:
        """Send a request; the future is the whole answer."""
        if self._ended:
            raise ConnectionError("the agent has ended")
        number = len(self.recorder.sent_by("client"))
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self._waiting[number]

    def notify(self, method: str, params: Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, question: Json, result: Json) -> None:
        """Answer a question that `answer` left open by returning None."""
        self._send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    @property
    def questions(self) -> list[Json]:
        """The permission requests so far."""
        return [message for message in self.recorder.sent_by("agent") if asks(message)]

    async def until(self, seen: Callable[[Json], bool], seconds: float = LIMIT) -> None:
        """Wait until the agent has sent a message of which `seen` is true."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: any(map(seen, self.recorder.sent_by("agent"))))

    async def read(self) -> None:
        """Take in the agent's lines until it ends."""
        while line := await self._out.readline():
            message = json.loads(line)
            self.recorder.add("agent", message)
            self._take(message)
            async with self._changed:
                self._changed.notify_all()
        self._ended = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the agent has ended"))

    def _take(self, message: Json) -> None:
        if "method" not in message:
            answer = self._waiting[message["id"]]
            if not answer.done():
                answer.set_result(message)
        elif asks(message):
            result = self.answer(message["params"])
            if result is not None:
                self.reply(message, result)
        elif "id" in message:
            error = {"code": -32601, "message": "Method not found"}
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _send(self, message: Json) -> None:
        self.recorder.add("client", message)
        self._in.write(json.dumps(message).encode() + b"\n")

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


@asynccontextmanager
async def started(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, recorder: Recorder, errors: Path
) -> AsyncIterator[Driver]:
    """An agent that runs until the block ends; its standard error goes to the file `errors`."""
    pipe = asyncio.subprocess.PIPE
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=stderr, env=dict(env), cwd=cwd, limit=LONGEST_LINE,
            start_new_session=True,
        )  # fmt: skip
    driver = Driver(process, recorder)
    reader = asyncio.create_task(driver.read())
    try:
        yield driver
    finally:
        await driver.close()
        reader.cancel()
        with suppress(asyncio.CancelledError):
            await reader
