"""One long answer in Jupyter AI's chat, as a page receives it. Runs in the environment of `peers.txt`.

`python peer_chat.py websocket|collaboration PROMPT SIZE LIMIT` starts Jupyter Server in the current folder with the
agent COPILOT_KERNEL_AGENT, and prints what it measured as JSON. The page stops after SIZE characters or LIMIT seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
from pycrdt import Array, Doc, Map, create_sync_message, create_update_message, handle_sync_message
from websockets.sync.client import ClientConnection, connect

CHAT, TOKEN, START_LIMIT = "answers.chat", "benchmark", 60.0
PERSONA = "jupyter-ai-personas::peer_persona::Persona"
SYNC = 0
CONFIGURATION = {
    "ServerApp": {"jpserver_extensions": {"jupyter_server_mcp": False}, "allow_root": True, "open_browser": False},
    "IdentityProvider": {"token": TOKEN},
    "PersonaManager": {"builtin_mcp_servers": []},
}


class Page:
    """The chat by JSON frames, which is how Jupyter AI works as it is installed."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.last: dict[str, Any] = {}
        self.users: set[str] = set()

    @classmethod
    def address(cls, port: int) -> str:
        """Of its WebSocket, as far as the token."""
        return f"ws://127.0.0.1:{port}/api/chat/ws/{CHAT}?"

    def ready(self) -> bool:
        """Whether the agent is there to answer."""
        return PERSONA in self.users

    def send(self, text: str) -> None:
        """A message to the agent."""
        message = {"id": uuid.uuid4().hex, "body": text, "metadata": {"to_persona": PERSONA}}
        self.socket.send(json.dumps({"type": "client", "action": "send", **message}))

    def read(self, frame: Any, least: int) -> int:
        """The characters of the agent's last message. A frame has all of it: one that is too short is not parsed."""
        if len(frame) < least:
            return 0
        content = json.loads(frame)
        self.users.update(content.get("users", ()))
        if content["action"] == "message" and content["message"]["sender"] == PERSONA:
            self.last = content["message"]
        return len(self.text())

    def text(self) -> str:
        """The agent's last message, as of the last frame that was parsed."""
        return str(self.last.get("body", ""))

    def receive(self, until: Callable[[int], bool], limit: float, least: int = 0) -> Iterator[tuple[int, float]]:
        """Bytes and time of each frame, until the length of the agent's last message satisfies `until`."""
        deadline = time.monotonic() + limit
        frame: Any = ""
        while (left := deadline - time.monotonic()) > 0:
            try:
                frame = self.socket.recv(left)
            except TimeoutError:
                break
            yield len(frame), time.monotonic()
            if until(self.read(frame, least)):
                return
        if frame:
            self.read(frame, 0)


class SharedPage(Page):
    """The chat as a shared document, which is how it works with jupyter-collaboration."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self.document: Doc[Any] = Doc()
        self.messages = self.document.get("messages", type=Array)
        self.shared_users = self.document.get("users", type=Map)
        self.state = self.document.get("state", type=Map)
        socket.send(create_sync_message(self.document))

    @classmethod
    def address(cls, port: int) -> str:
        """Of the document's room."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/collaboration/session/{CHAT}",
            json.dumps({"format": "text", "type": "chat"}).encode(),
            {"Authorization": f"token {TOKEN}"},
            method="PUT",
        )
        with urllib.request.urlopen(request, timeout=START_LIMIT) as response:
            session = json.load(response)
        room = f"text:chat:{session['fileId']}?sessionId={session['sessionId']}&"
        return f"ws://127.0.0.1:{port}/api/collaboration/room/{room}"

    def ready(self) -> bool:
        """Messages that come while the document is dirty are not answered."""
        return PERSONA in self.shared_users and self.state.get("dirty") is False

    def send(self, text: str) -> None:
        """As an update of the document."""
        before = self.document.get_state()
        message = {"id": uuid.uuid4().hex, "body": text, "metadata": {"to_persona": PERSONA}}
        self.messages.append(Map({**message, "sender": "someone", "time": time.time(), "raw_time": False}))
        self.socket.send(create_update_message(self.document.get_update(before)))

    def read(self, frame: Any, least: int) -> int:
        """Updates build on each other: each is applied."""
        if frame and frame[0] == SYNC and (reply := handle_sync_message(frame[1:], self.document)):
            self.socket.send(reply)
        return len(self.text()) if len(frame) >= least else 0

    def text(self) -> str:
        """As the document has it."""
        message = self.messages[-1] if len(self.messages) else {}
        return str(message["body"]) if message and message["sender"] == PERSONA else ""


@contextmanager
def server(collaboration: bool) -> Iterator[tuple[int, psutil.Process]]:
    """Jupyter Server in the current folder, with the persona and an empty chat; its port and process."""
    folder = Path.cwd()
    personas = folder / ".jupyter" / "personas"
    personas.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("peer_persona.py"), personas)
    (folder / CHAT).write_text('{"messages": [], "users": {}, "attachments": {}, "metadata": {}}')
    configuration = {**CONFIGURATION, "YDocExtension": {"disable_rtc": not collaboration}}
    (folder / "config").mkdir()
    (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(configuration))
    places = {f"JUPYTER_{name.upper()}_DIR": str(folder / name) for name in ("config", "data", "runtime")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "jupyter_server", f"--port={port}", "--ServerApp.port_retries=0"]
    with open("server.log", "wb") as log:
        process = psutil.Popen(command, env={**os.environ, **places}, stdout=log, stderr=log)
    try:
        _wait(port, process)
        yield port, process
    finally:
        _stop(process)


def _wait(port: int, process: psutil.Popen) -> None:
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(Path("server.log").read_text()[-2000:])


def _stop(process: psutil.Popen) -> None:
    """With its agent, which is in a session of its own."""
    family = [*process.children(recursive=True), process]
    process.terminate()
    with suppress(psutil.TimeoutExpired):
        process.wait(20)
    for each in family:
        if each.is_running():
            each.kill()


def measure(page: Page, process: psutil.Process, prompt: str, size: int, limit: float) -> dict[str, Any]:
    """The answer to `prompt`, after a first one to a shorter prompt."""
    for _ in page.receive(lambda _: page.ready(), START_LIMIT):
        pass
    page.send("demo: say ready")
    for _ in page.receive(lambda length: length == len("ready"), START_LIMIT):
        pass
    if page.text() != "ready":
        raise TimeoutError(Path("server.log").read_text()[-2000:])
    spent, written = _spent(process), process.io_counters().write_chars
    page.send(prompt)
    frames = list(page.receive(lambda length: length >= size, limit, size))
    text, times = page.text(), [when for _, when in frames]
    measured = {
        "text": text,
        "bytes": sum(length for length, _ in frames),
        "messages": len(frames),
        "at": times[-1],
        "silence": max(after - before for before, after in pairwise(times)),
        "seconds": _spent(process) - spent,
        "written": process.io_counters().write_chars - written,
    }
    return {**measured, "file": _file_size(size if len(text) >= size else 0)}


def _spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _file_size(least: int) -> int:
    """Of the chat on disk. A shared document is saved a second after its last change."""
    deadline = time.monotonic() + 20
    while (size := Path(CHAT).stat().st_size) < least and time.monotonic() < deadline:
        time.sleep(0.1)
    return size


def main() -> None:
    """One line of JSON."""
    mode, prompt, size, limit = sys.argv[1:]
    shared = mode == "collaboration"
    with server(shared) as (port, process):
        kind = SharedPage if shared else Page
        address = f"{kind.address(port)}token={TOKEN}"
        with connect(address, compression=None, max_size=None, ping_interval=None) as connection:
            print(json.dumps(measure(kind(connection), process, prompt, int(size), float(limit))))


if __name__ == "__main__":
    main()
