"""An agent that is quick to start, runs small scripts with faults, and keeps a journal of its messages.

`python -I -S fault_agent.py FOLDER [SESSION]`. FOLDER gets `journal.jsonl`, with `{"pid": …, "way": "<" | ">",
"message": …}` after each message came or was written, and the sessions, which can be resumed. A file in it can be
replayed, as a turn or as a session that is loaded: it has lines of updates of SESSION, which then is the id of each new
session. Threads rather than asyncio: it is up in 30 ms. SIGUSR1 ends the turns. A prompt has one directive a line:

    say TAG N MS              the words TAGw0, TAGw1, … as chunks, so many milliseconds apart
    replay NAME               the lines of a file
    call N                    tool calls that need no permission, one after the other
    ask N                     so many questions at once; ends when all are answered
    edit NAME TEXT            writes a file after a question
    form                      an elicitation
    read NAME                 a file, through the client
    write NAME TEXT N         a file of N times TEXT, through the client
    flood N SECONDS           so many terminals of the client that write 1 MB/s each and go on after the turn
    garbage                   lines that are no messages, and messages that mean nothing
    refuse                    the stop reason `refusal`
    die                       SIGKILL to itself
    wait                      nothing, until it is cancelled
    hang                      silence that no cancel ends
    child                     starts a process that would outlive the agent
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

OPTIONS = [
    {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
]
FORM = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}
INITIALIZED = {
    "protocolVersion": 1,
    "agentInfo": {"name": "fault-agent", "title": "fault agent", "version": "1"},
    "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}, "close": {}}},
    "authMethods": [],
}
GARBAGE = (b"{", b"\xff\xfe", b"[]", b"null", b'{"jsonrpc":"2.0","id":99999,"result":{}}', b'{"method":7}')
PIECE_BYTES = 1 << 16
LINE = "\x1b[32mPASSED\x1b[0m tests/test_parse.py::test_reads_every_line ✓ \x1b[2m3 ms\x1b[0m\n"
FLOOD = f"import sys, time\nwhile True: sys.stdout.write({LINE * 10!r} * 60); sys.stdout.flush(); time.sleep(0.05)"


class Ended(Exception):
    """The turn ends with this stop reason."""


class Wire:
    """Lines in and out, each in the journal as soon as it has passed."""

    def __init__(self, folder: Path) -> None:
        self._journal = os.open(folder / "journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.folder, self._writing = folder, threading.Lock()
        self._count, self._answers = 0, dict[int, Json]()

    def send(self, **message: Any) -> None:
        """Write one message."""
        with self._writing:
            self._write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._note(">", message)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def replay(self, name: str) -> None:
        """Write the lines of a file, which the journal does not have."""
        with self._writing, (self.folder / name).open("rb") as file:
            for piece in iter(lambda: file.read(PIECE_BYTES), b""):
                self._write(piece)

    def request(self, method: str, cancelled: threading.Event, **params: Any) -> Json:
        """The result; empty if there is none, or when the turn was cancelled before it came."""
        with self._writing:
            self._count += 1
            number = self._count
        self.send(id=number, method=method, params=params)
        while number not in self._answers and not cancelled.wait(0.001):
            pass
        return self._answers.pop(number, {}).get("result") or {}

    def messages(self) -> Iterator[Json]:
        """What the client sends, without answers, up to its end."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self._note("<", message)
            if "method" in message:
                yield message
            else:
                self._answers[message["id"]] = message

    def _note(self, way: str, message: Json) -> None:
        os.write(self._journal, json.dumps({"pid": os.getpid(), "way": way, "message": message}).encode() + b"\n")


class Turn:
    """One prompt, played in a thread of its own."""

    def __init__(self, wire: Wire, session: str) -> None:
        self._wire, self._session = wire, session
        self._cancelled, self._stop_reason, self._calls = threading.Event(), "cancelled", 0

    def play(self, number: int, script: str) -> None:
        """Answer the prompt of this number."""
        try:
            for line in script.splitlines():
                name, *words = line.split()
                getattr(self, name)(*words)
                self._sleep(0)
        except Ended as end:
            self._stop_reason = str(end)
        else:
            self._stop_reason = "end_turn"
        self._wire.send(id=number, result={"stopReason": self._stop_reason})

    def stop(self, reason: str = "cancelled") -> None:
        if not self._cancelled.is_set():
            self._stop_reason = reason
            self._cancelled.set()

    def _sleep(self, seconds: float) -> None:
        if self._cancelled.wait(seconds) if seconds else self._cancelled.is_set():
            raise Ended(self._stop_reason)

    def _update(self, update: str, /, **members: Any) -> None:
        params = {"sessionId": self._session, "update": {"sessionUpdate": update, **members}}
        self._wire.send(method="session/update", params=params)

    def _request(self, method: str, **params: Any) -> Json:
        return self._wire.request(method, self._cancelled, sessionId=self._session, **params)

    def _begin(self, **call: Any) -> Json:
        self._calls += 1
        call = {"toolCallId": f"{os.getpid()}-{time.monotonic_ns()}-{self._calls}", **call}
        self._update("tool_call", status="pending", **call)
        return call

    def _ask(self, kind: str = "other", title: str = "Do it", **more: Any) -> bool:
        call = self._begin(kind=kind, title=title, **more)
        answer = self._request("session/request_permission", toolCall=call, options=OPTIONS)
        is_allowed = (answer.get("outcome") or {}).get("optionId") == "allow_once"
        status = "completed" if is_allowed else "failed"
        self._update("tool_call_update", toolCallId=call["toolCallId"], status=status)
        return is_allowed

    def say(self, tag: str, amount: str = "1", milliseconds: str = "0") -> None:
        for number in range(int(amount)):
            self._sleep(float(milliseconds) / 1000)
            self._update("agent_message_chunk", content={"type": "text", "text": f"{tag}w{number} "})

    def replay(self, name: str) -> None:
        self._wire.replay(name)

    def call(self, amount: str) -> None:
        for _ in range(int(amount)):
            id = self._begin(kind="read", title="Look something up")["toolCallId"]
            content = [{"type": "content", "content": {"type": "text", "text": "Found: " + "word " * 40}}]
            self._update("tool_call_update", toolCallId=id, status="completed", content=content)

    def ask(self, amount: str = "1") -> None:
        threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(int(amount))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def edit(self, name: str, text: str) -> None:
        path = Path.cwd() / name
        old = path.read_text() if path.exists() else None
        diff = [{"type": "diff", "path": str(path), "oldText": old, "newText": text}]
        if self._ask("edit", f"Edit {name}", locations=[{"path": str(path)}], content=diff):
            path.write_text(text)

    def form(self) -> None:
        self._request("elicitation/create", mode="form", message="Who?", requestedSchema=FORM)

    def read(self, name: str) -> None:
        self._request("fs/read_text_file", path=str(Path.cwd() / name))

    def write(self, name: str, text: str, amount: str) -> None:
        self._request("fs/write_text_file", path=str(Path.cwd() / name), content=text * int(amount))

    def flood(self, amount: str, seconds: str) -> None:
        for _ in range(int(amount)):
            self._request("terminal/create", command=sys.executable, args=["-S", "-c", FLOOD], outputByteLimit=100_000)
        self._sleep(float(seconds))

    def garbage(self) -> None:
        os.write(1, b"\n".join((*GARBAGE, b"")))
        self._update("no_such_update", content=7)

    def refuse(self) -> None:
        raise Ended("refusal")

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def wait(self) -> None:
        self._sleep(3600)

    def hang(self) -> None:
        time.sleep(3600)

    def child(self) -> None:
        subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def answer(wire: Wire, method: str, params: Json, session: str) -> Json:
    """What a request is answered with, as members of the message."""
    sessions = wire.folder / "sessions"
    sessions.mkdir(exist_ok=True)
    match method:
        case "initialize":
            return {"result": INITIALIZED}
        case "session/new":
            session = session or f"session-{os.getpid()}-{time.monotonic_ns()}"
            (sessions / session).touch()
            return {"result": {"sessionId": session}}
        case "session/load" if (wire.folder / params["sessionId"]).exists():
            wire.replay(params["sessionId"])
        case "session/resume" | "session/load" if not (sessions / params["sessionId"]).exists():
            return {"error": {"code": -32002, "message": "There is no such session"}}
    return {"result": {}}


def main(folder: str, session: str = "") -> None:
    """Until the client closes the connection. Requests are answered in their order, prompts beside one another."""
    wire, turns = Wire(Path(folder)), dict[str, Turn]()

    def end_turns(*_: Any) -> None:
        for turn in turns.values():
            turn.stop("end_turn")

    signal.signal(signal.SIGUSR1, end_turns)
    for message in wire.messages():
        method, params = message["method"], message.get("params") or {}
        if method == "session/prompt":
            turn = turns[params["sessionId"]] = Turn(wire, params["sessionId"])
            arguments = message["id"], params["prompt"][0]["text"]
            threading.Thread(target=turn.play, args=arguments, daemon=True).start()
        elif method == "session/cancel" and params["sessionId"] in turns:
            turns[params["sessionId"]].stop()
        elif "id" in message:
            wire.send(id=message["id"], **answer(wire, method, params, session))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
