"""Runs in a Python kernel: opens the comm to the page as the kernel does, and does what a test sends over a socket.

A line of JSON from the test is sent to the page; a call waits for its reply. It imports nothing of the project.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from comm.base_comm import BaseComm


class PageComm(BaseComm):
    """Its parent is the request of the cell that opened it, from any thread."""

    def __init__(self, kernel: Any, parent: dict[str, Any], **keywords: Any) -> None:
        self.kernel, self.parent = kernel, parent
        super().__init__(**keywords)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        content = {"data": data or {}, "comm_id": self.comm_id, **keys}
        ident = f"comm-{self.comm_id}".encode()
        kernel = self.kernel
        kernel.session.send(kernel.iopub_socket, msg_type, content, self.parent, ident, buffers, metadata=metadata)


class Driver:
    """`finish` ends the cell; the comm stays open, as the kernel keeps it."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.loop = asyncio.get_running_loop()
        self.replies: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.finished = asyncio.Event()
        self.heard: list[dict[str, Any]] = []
        self.comm = PageComm(kernel, kernel.get_parent("shell"), target_name="copilot.notebook", data={"version": 1})
        self.comm.on_msg(lambda message: self.loop.call_soon_threadsafe(self.receive, message))

    def receive(self, message: dict[str, Any]) -> None:
        data = message["content"]["data"]
        self.heard.append(data)
        if "run" in data:
            self.answer_run(data, message)
        elif "replies" in data:
            self.replies.put_nowait(data)

    def answer_run(self, data: dict[str, Any], message: dict[str, Any]) -> None:
        """What a run shows, with the page's own message as its parent."""
        shown = (
            ("stream", {"name": "stdout", "text": f"ran {data['code']}"}),
            ("display_data", {"data": {"text/plain": "a figure"}, "metadata": {}, "transient": {}}),
        )
        for kind, content in shown:
            self.kernel.session.send(self.kernel.iopub_socket, kind, content, parent=message)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await self.act(json.loads(line))).encode() + b"\n")
            await writer.drain()
        writer.close()

    async def act(self, data: dict[str, Any]) -> dict[str, Any]:
        if data == {"heard": True}:
            return {"heard": self.heard}
        if data == {"finish": True}:
            self.finished.set()
            return {}
        if data == {"close": True}:
            self.comm.close()
            return {}
        sent = time.time() * 1000
        self.comm.send(data)
        return {"sent": sent, **(await self.replies.get() if "calls" in data else {})}


async def drive(path: str) -> None:
    """Listen on a port of loopback, whose number is written to `path`, until the test has finished."""
    from IPython import get_ipython

    driver = Driver(get_ipython().kernel)
    server = await asyncio.start_server(driver.serve, "127.0.0.1")
    Path(path).write_text(str(server.sockets[0].getsockname()[1]))
    await driver.finished.wait()
