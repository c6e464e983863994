"""An agent that plays a recorded conversation again: `python tests/agent --play TRANSCRIPT`.

It goes through the transcript in order: where the client wrote, it waits until the client has sent the same kind of
message (a request of that method, an answer to that question); where the agent wrote, it writes.
It chooses nothing. Requests that the transcript does not know get -32601. It imports nothing of ours.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class Gone(Exception):
    """The client closed the pipe."""


class Replay:
    """The agent's side of one transcript."""

    def __init__(self, records: list[Json], incoming: Iterable[str], send: Callable[[Json], None]) -> None:
        self._records = records
        self._incoming: Iterator[Json] = map(json.loads, incoming)
        self._send = send
        self._early: list[Json] = []
        self._ids: dict[Any, Any] = {}
        self._known = {record["message"].get("method") for record in records if record["from"] == "client"}

    def run(self) -> None:
        """Play the transcript, then answer what still comes, until the client closes the pipe (raises Gone)."""
        for record in self._records:
            if record["from"] == "client":
                self._await(record["message"])
            else:
                self._write(record["message"])
        for message in self._early:
            self._refuse(message)
        while True:
            self._refuse(self._next())

    def _await(self, recorded: Json) -> None:
        message = self._take(_same_kind(recorded))
        if "method" in recorded and "id" in recorded:
            self._ids[recorded["id"]] = message["id"]

    def _write(self, recorded: Json) -> None:
        answers = "method" not in recorded
        self._send({**recorded, "id": self._ids[recorded["id"]]} if answers else recorded)

    def _take(self, wanted: Callable[[Json], bool]) -> Json:
        for at, message in enumerate(self._early):
            if wanted(message):
                return self._early.pop(at)
        while not wanted(message := self._next()):
            if message.get("method") in self._known:
                self._early.append(message)
            else:
                self._refuse(message)
        return message

    def _next(self) -> Json:
        for message in self._incoming:
            return message
        raise Gone

    def _refuse(self, message: Json) -> None:
        if "method" in message and "id" in message:
            error = {"code": -32601, "message": f"{message['method']} is not in this transcript"}
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def _same_kind(recorded: Json) -> Callable[[Json], bool]:
    if "method" in recorded:
        return lambda message: message.get("method") == recorded["method"]
    return lambda message: "method" not in message and message.get("id") == recorded["id"]


def read(path: Path) -> list[Json]:
    """The records of a transcript."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main(path: str) -> None:
    """Play the transcript on stdin and stdout until the client closes the pipe."""

    def send(message: Json) -> None:
        print(json.dumps(message), flush=True)

    with suppress(Gone, BrokenPipeError):
        Replay(read(Path(path)), sys.stdin, send).run()
