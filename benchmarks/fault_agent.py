"""An agent that is quick to start, runs small scripts with faults, and keeps a journal of its messages.

`python -I -S fault_agent.py FOLDER [SESSION]`. A prompt has one directive a line, see `DIRECTIVES`. FOLDER gets
`journal.jsonl`, `{"pid": …, "way": "<" | ">", "message": …}` after each message came or was written, and the sessions,
which can be resumed. A file in it can be replayed, as a turn or as a session that is loaded: it has lines of updates of
SESSION, which then is the id of each new session. Threads rather than asyncio: it is up in 30 ms.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
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
NO_SESSION, NO_METHOD = -32002, -32601
PIECE_BYTES = 1 << 16


class Ended(Exception):
    """The turn ends with this stop reason."""


class Wire:
    """Lines in and out, each in the journal as soon as it has passed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = os.open(folder / "journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._writing = threading.Lock()
        self._answers: dict[int, SimpleQueue[Json]] = {}
        self._count = 0

    def send(self, message: Json) -> None:
        """Write one message."""
        message = {"jsonrpc": "2.0", **message}
        with self._writing:
            self.write(json.dumps(message).encode() + b"\n")
            self._note(">", message)

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        while data:
            data = data[os.write(1, data) :]

    def replay(self, name: str, rate: str = "") -> None:
        """Write the lines of a file, all at once or `rate` a second; the journal does not have them."""
        began = time.monotonic()
        with self._writing, (self.folder / name).open("rb") as recording:
            for number, line in enumerate(recording if rate else iter(lambda: recording.read(PIECE_BYTES), b"")):
                if rate:
                    time.sleep(max(0.0, began + number / int(rate) - time.monotonic()))
                self.write(line)

    def request(self, method: str, params: Json, cancelled: threading.Event) -> Json | None:
        """The answer's result, or its error as `{"error": …}`; None when the turn was cancelled before it came."""
        with self._writing:
            self._count += 1
            number = self._count
        answers = self._answers[number] = SimpleQueue()
        self.send({"id": number, "method": method, "params": params})
        while not cancelled.is_set():
            if not answers.empty():
                answer = answers.get()
                return dict(answer.get("result") or {"error": answer.get("error")})
            cancelled.wait(0.001)
        return None

    def messages(self) -> Any:
        """What the client sends, up to its end; answers go to those who wait for them."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self._note("<", message)
            if "method" in message:
                yield message
            elif (answers := self._answers.get(message["id"])) is not None:
                answers.put(message)

    def _note(self, way: str, message: Json) -> None:
        os.write(self._journal, json.dumps({"pid": os.getpid(), "way": way, "message": message}).encode() + b"\n")


class Turn:
    """One prompt, played in a thread of its own."""

    def __init__(self, wire: Wire, session: str, cwd: Path) -> None:
        self.cancelled = threading.Event()
        self._wire, self._session, self._cwd = wire, session, cwd
        self._calls = 0
        self._stop_reason = "cancelled"

    def play(self, script: str) -> Json:
        """The answer to the prompt, without its id."""
        try:
            for line in script.splitlines():
                name, *words = line.split()
                DIRECTIVES[name](self, *words)
                self._sleep(0)
        except Ended as end:
            return {"result": {"stopReason": str(end)}}
        return {"result": {"stopReason": "end_turn"}}

    def say(self, tag: str, amount: str = "1", milliseconds: str = "0") -> None:
        """`say TAG N MS`: the words TAGw0, TAGw1, … as chunks, so many milliseconds apart."""
        for number in range(int(amount)):
            self._sleep(float(milliseconds) / 1000)
            self._chunk(f"{tag}w{number} ")

    def replay(self, name: str, rate: str = "") -> None:
        """`replay NAME [RATE]`: the lines of a file of the folder, all at once or so many a second."""
        self._wire.replay(name, rate)

    def flood(self, rate: str, seconds: str, size: str = "1") -> None:
        """`flood RATE SECONDS SIZE`: chunks of SIZE characters; each has the time at which it was due."""
        began = time.monotonic()
        for number in range(int(float(rate) * float(seconds))):
            due = began + number / float(rate)
            time.sleep(max(0.0, due - time.monotonic()))
            self._chunk(f"{due:.6f} {'x' * int(size)}")

    def call(self, amount: str = "1") -> None:
        """`call N`: tool calls that need no permission, one after the other."""
        for _ in range(int(amount)):
            call = self._begin("read", "Look something up")
            content = [{"type": "content", "content": {"type": "text", "text": "Found: " + "word " * 40}}]
            self._update({**call, "status": "completed", "content": content})

    def ask(self, amount: str = "1") -> None:
        """`ask N`: so many questions at once; ends when all are answered."""
        threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(int(amount))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, kind: str = "other", title: str = "Do it", **more: Any) -> bool:
        call = self._begin(kind, title, **more)
        tool = {"toolCallId": call["toolCallId"], "title": title, "kind": kind, **more}
        params = {"sessionId": self._session, "toolCall": tool, "options": OPTIONS}
        answer = self._wire.request("session/request_permission", params, self.cancelled)
        is_allowed = ((answer or {}).get("outcome") or {}).get("optionId") == "allow_once"
        self._update({**call, "status": "completed" if is_allowed else "failed"})
        return is_allowed

    def edit(self, name: str, text: str) -> None:
        """`edit NAME TEXT`: writes a file after a question."""
        path = self._cwd / name
        old = path.read_text() if path.exists() else None
        diff = [{"type": "diff", "path": str(path), "oldText": old, "newText": text}]
        if self._ask("edit", f"Edit {name}", locations=[{"path": str(path)}], content=diff):
            path.write_text(text)

    def form(self) -> None:
        """`form`: an elicitation."""
        params = {"sessionId": self._session, "mode": "form", "message": "Who?", "requestedSchema": FORM}
        self._wire.request("elicitation/create", params, self.cancelled)

    def read(self, name: str) -> None:
        """`read NAME`: a file, through the client."""
        params = {"sessionId": self._session, "path": str(self._cwd / name)}
        self._wire.request("fs/read_text_file", params, self.cancelled)

    def write(self, name: str, text: str, amount: str = "1") -> None:
        """`write NAME TEXT N`: a file of N times TEXT, through the client."""
        params = {"sessionId": self._session, "path": str(self._cwd / name), "content": text * int(amount)}
        self._wire.request("fs/write_text_file", params, self.cancelled)

    def garbage(self) -> None:
        """`garbage`: lines that are no messages, and messages that mean nothing."""
        for line in (b"{", b"\xff\xfe", b"[]", b"null", b'{"jsonrpc":"2.0","id":99999,"result":{}}', b'{"method":7}'):
            self._wire.write(line + b"\n")
        self._update({"sessionUpdate": "no_such_update", "content": 7})

    def refuse(self) -> None:
        """`refuse`: the stop reason `refusal`."""
        raise Ended("refusal")

    def die(self, milliseconds: str = "0") -> None:
        """`die MS`: SIGKILL to itself, so many milliseconds later."""
        threading.Timer(float(milliseconds) / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()

    def end(self) -> None:
        """End the turn, whatever it waits for; not a directive: SIGUSR1 does it."""
        if not self.cancelled.is_set():
            self._stop_reason = "end_turn"
            self.cancelled.set()

    def wait(self, milliseconds: str = "3600000") -> None:
        """`wait MS`: nothing."""
        self._sleep(float(milliseconds) / 1000)

    def hang(self) -> None:
        """`hang`: silence that no cancel ends."""
        time.sleep(3600)

    def child(self) -> None:
        """`child`: starts a process that would outlive the agent."""
        subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def _begin(self, kind: str, title: str, **more: Any) -> Json:
        self._calls += 1
        call = {"toolCallId": f"{os.getpid()}-{time.monotonic_ns()}-{self._calls}"}
        self._update({"sessionUpdate": "tool_call", **call, "title": title, "kind": kind, "status": "pending", **more})
        return {"sessionUpdate": "tool_call_update", **call}

    def _chunk(self, text: str) -> None:
        self._update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def _update(self, update: Json) -> None:
        self._wire.send({"method": "session/update", "params": {"sessionId": self._session, "update": update}})

    def _sleep(self, seconds: float) -> None:
        if self.cancelled.wait(seconds) if seconds else self.cancelled.is_set():
            raise Ended(self._stop_reason)


NAMES = "say replay flood call ask edit form read write garbage refuse die wait hang child"
DIRECTIVES: dict[str, Callable[..., None]] = {name: getattr(Turn, name) for name in NAMES.split()}


class Agent:
    """Answers requests in their order; prompts are played beside one another."""

    def __init__(self, folder: Path, session: str = "") -> None:
        self._wire, self._sessions, self._session = Wire(folder), folder / "sessions", session
        self._sessions.mkdir(exist_ok=True)
        self._cwd = Path.cwd()
        self._turns: dict[str, Turn] = {}

    def _end_turns(self, *_: object) -> None:
        for turn in self._turns.values():
            turn.end()

    def run(self) -> None:
        """Until the client closes the connection. SIGUSR1 ends the turns."""
        signal.signal(signal.SIGUSR1, self._end_turns)
        for message in self._wire.messages():
            method, params = message["method"], message.get("params") or {}
            if method == "session/prompt":
                turn = self._turns[params["sessionId"]] = Turn(self._wire, params["sessionId"], self._cwd)
                script = params["prompt"][0]["text"]
                threading.Thread(target=self._play, args=(message["id"], turn, script), daemon=True).start()
            elif method == "session/cancel" and params["sessionId"] in self._turns:
                self._turns[params["sessionId"]].cancelled.set()
            elif "id" in message:
                self._wire.send({"id": message["id"], **self._answer(method, params)})
        os._exit(0)

    def _answer(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                return {"result": INITIALIZED}
            case "session/new":
                session = self._session or f"session-{os.getpid()}-{time.monotonic_ns()}"
                (self._sessions / session).touch()
                return {"result": {"sessionId": session}}
            case "session/resume" if (self._sessions / params["sessionId"]).exists():
                return {"result": {}}
            case "session/load" if (self._wire.folder / params["sessionId"]).exists():
                self._wire.replay(params["sessionId"])
                return {"result": {}}
            case "session/close":
                return {"result": {}}
            case "session/resume" | "session/load":
                return {"error": {"code": NO_SESSION, "message": "There is no such session"}}
        return {"error": {"code": NO_METHOD, "message": f"Method not found: {method}"}}

    def _play(self, number: int, turn: Turn, script: str) -> None:
        self._wire.send({"id": number, **turn.play(script)})


if __name__ == "__main__":
    Agent(Path(sys.argv[1]), *sys.argv[2:]).run()
