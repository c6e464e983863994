"""A Jupyter server on Windows, as `copilot-kernel demo` starts it, and its clients."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.request
from typing import Any

import websocket

from ..limits import LIMIT
from ..ports import free_port
from .processes import COMMAND, until


class Server:
    """JupyterLab with the demo agent; it opens no browser."""

    def __init__(self) -> None:
        self._place = ("127.0.0.1", port := free_port())
        self._process = subprocess.Popen(
            [*COMMAND, "demo", "--no-browser", f"--port={port}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        assert self._process.stdout
        address = next(line for line in self._process.stdout if line.startswith("JupyterLab: "))
        self.url = f"http://127.0.0.1:{port}/"
        self._token = address.strip().partition("token=")[2]
        until(self._answers, "the server")

    @property
    def pid(self) -> int:
        return self._process.pid

    def get(self, path: str, body: object = None) -> str:
        """The body of the answer. Raises URLError."""
        headers = {"Authorization": f"token {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return str(answer.read().decode())

    def chat(self) -> Chat:
        """A new conversation."""
        url = f"{self.url.replace('http', 'ws', 1)}copilot/chat/ws"
        connection = socket.create_connection(self._place, LIMIT)  # wine knows no keep-alive options
        key = {"Authorization": f"token {self._token}"}
        return Chat(websocket.create_connection(url, LIMIT, header=key, socket=connection))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(LIMIT)

    def _answers(self) -> bool:
        assert self._process.poll() is None, "the server has ended"
        try:
            return bool(self.get("api"))
        except OSError:
            return False


class Chat:
    """A client of the chat's WebSocket."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.act("new_session")
        self.next("session_created")

    def act(self, action: str, **more: Any) -> None:
        self._connection.send(json.dumps({"action": action, **more}))

    def next(self, name: str) -> dict[str, Any]:
        """The next message of this type, or the next event of this name."""
        while True:
            message: dict[str, Any] = json.loads(self._connection.recv())
            if name in (message["type"], message.get("event")):
                return message
