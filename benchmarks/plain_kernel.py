"""The baseline: the least kernel on `ipykernel.kernelbase` that runs an agent. Each chunk goes out as it comes.

No questions, no HTML, no cancel. `python plain_kernel.py -f CONNECTION_FILE`.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

Json = dict[str, Any]


class Pipe:
    """An agent with a session, read line by line; `show` takes each update."""

    def __init__(self, command: Sequence[str], show: Callable[[Json], None]) -> None:
        self.show, pipe = show, subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.call("initialize", protocolVersion=1, clientCapabilities={})
        self.session = self.call("session/new", cwd=os.getcwd(), mcpServers=[])["sessionId"]

    def call(self, method: str, **params: Any) -> Json:
        """Send a request, and read until its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                return dict(message["result"])
            self.show(message["params"].get("update", {}))
        raise EOFError

    def prompt(self, text: str) -> None:
        """A turn, to its end."""
        self.call("session/prompt", sessionId=self.session, prompt=[{"type": "text", "text": text}])


class PlainKernel(Kernel):
    """Text in, stream messages out."""

    implementation = "plain"
    implementation_version = "1"
    banner = "the baseline"
    language_info = {"name": "plain", "mimetype": "text/plain", "file_extension": ".txt"}  # noqa: RUF012
    agent: Pipe | None = None

    def show(self, update: Json) -> None:
        """One chunk, one message."""
        if update.get("sessionUpdate") == "agent_message_chunk":
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": update["content"]["text"]})  # type: ignore[no-untyped-call]

    def do_execute(self, code: str, silent: bool, *args: Any, **more: Any) -> Any:
        """Blocks until the turn is over."""
        self.agent = self.agent or Pipe(shlex.split(os.environ["COPILOT_KERNEL_AGENT"]), self.show)
        self.agent.prompt(code)
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=PlainKernel)
