"""A notebook's kernel behind a Jupyter server, seen by a client of its REST interface and its WebSocket."""

import json
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty
from typing import Any
from urllib.request import Request, urlopen

from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from websockets.sync.client import connect

from ..jupyter.front_end import LIMIT, FrontEnd, Message


class Channel:
    """One of a kernel's channels: what `FrontEnd` sends through."""

    def __init__(self, name: str, socket: Any) -> None:
        self._name, self._socket = name, socket

    def send(self, message: Message) -> None:
        self._socket.send(json.dumps({**message, "channel": self._name, "buffers": []}, default=json_default))


class SocketClient:
    """The part of a jupyter_client that `FrontEnd` uses."""

    def __init__(self, socket: Any, session: Session) -> None:
        self.session, self._socket = session, socket
        self.shell_channel, self.control_channel = Channel("shell", socket), Channel("control", socket)
        self._heard: dict[str, deque[Message]] = {name: deque() for name in ("shell", "iopub", "control", "stdin")}

    def get_shell_msg(self, timeout: float) -> Message:
        return self._next("shell", timeout)

    def get_iopub_msg(self, timeout: float) -> Message:
        return self._next("iopub", timeout)

    def get_control_msg(self, timeout: float) -> Message:
        return self._next("control", timeout)

    def _next(self, channel: str, timeout: float) -> Message:
        end = time.monotonic() + timeout
        while not self._heard[channel]:
            try:
                message = json.loads(self._socket.recv(timeout=max(0.0, end - time.monotonic())))
            except TimeoutError:
                raise Empty from None
            self._heard[message["channel"]].append(message)
        return self._heard[channel].popleft()


class Remote:
    """A Jupyter server, or a gateway, at `url`, which has no slash at its end."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._headers = url, {"Authorization": f"token {token}"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, from JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}/{path}", method=method, headers=self._headers, data=data)
        with urlopen(request, timeout=LIMIT) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    @contextmanager
    def notebook(self, path: str, kernel: str = "copilot") -> Iterator["RemoteNotebook"]:
        """Open a notebook, whose file need not be there, with a new kernel; the block's end ends the kernel."""
        asked = {"path": path, "name": path, "type": "notebook", "kernel": {"name": kernel}}
        session = self.ask("POST", "api/sessions", asked)
        try:
            with self.connected(session["kernel"]["id"]) as notebook:
                yield notebook
        finally:
            self.ask("DELETE", f"api/sessions/{session['id']}")

    @contextmanager
    def connected(self, kernel_id: str) -> Iterator["RemoteNotebook"]:
        """A front end on this kernel, until the block's end."""
        with ExitStack() as sockets:
            yield RemoteNotebook(self, kernel_id, sockets)

    @contextmanager
    def channels(self, kernel_id: str) -> Iterator[SocketClient]:
        session = Session()
        url = f"{self.url.replace('http', 'ws', 1)}/api/kernels/{kernel_id}/channels?session_id={session.session}"
        limits: dict[str, Any] = {"open_timeout": LIMIT, "close_timeout": 2, "max_size": None}
        with connect(url, additional_headers=self._headers, proxy=None, **limits) as socket:
            yield SocketClient(socket, session)


class RemoteNotebook(FrontEnd):
    """A front end with widgets, as JupyterLab's is."""

    def __init__(self, remote: Remote, kernel_id: str, sockets: ExitStack) -> None:
        self._remote, self._kernel_id, self._sockets = remote, kernel_id, sockets
        super().__init__(manager=None, log=Path(), client=self._connect())  # type: ignore[arg-type]
        self._begin()

    def interrupt(self) -> None:
        """What ■ does."""
        self._remote.ask("POST", f"api/kernels/{self._kernel_id}/interrupt")

    def restart(self) -> None:
        """As JupyterLab does it: with a new connection."""
        self._remote.ask("POST", f"api/kernels/{self._kernel_id}/restart")
        self.client = self._connect()  # type: ignore[assignment]
        self._begin()

    def _connect(self) -> SocketClient:
        self._sockets.close()
        return self._sockets.enter_context(self._remote.channels(self._kernel_id))

    def _begin(self) -> None:
        self.reply(self.send("kernel_info_request"), LIMIT)
        self.open_control()
