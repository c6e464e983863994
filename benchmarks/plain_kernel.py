"""The floor: the least kernel on `ipykernel.kernelbase` that runs an agent. Each chunk goes out as it comes.

No questions, no HTML, no cancel. `python plain_kernel.py -f CONNECTION_FILE`.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel


class PlainKernel(Kernel):
    """Text in, stream messages out."""

    implementation = "plain"
    implementation_version = "1"
    banner = "the floor"
    language_info = {"name": "plain", "mimetype": "text/plain", "file_extension": ".txt"}  # noqa: RUF012
    agent: subprocess.Popen[bytes] | None = None

    def call(self, id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and read until its answer."""
        if self.agent is None:
            command = shlex.split(os.environ["COPILOT_KERNEL_AGENT"])
            self.agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.agent.stdin is not None
        assert self.agent.stdout is not None
        self.agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        self.agent.stdin.write(b"\n")
        self.agent.stdin.flush()
        for line in self.agent.stdout:
            message = json.loads(line)
            if "method" not in message:
                return dict(message)
            self.show(message["params"].get("update", {}))
        raise EOFError

    def show(self, update: dict[str, Any]) -> None:
        """One chunk, one message."""
        if update.get("sessionUpdate") == "agent_message_chunk":
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": update["content"]["text"]})  # type: ignore[no-untyped-call]

    def do_execute(self, code: str, silent: bool, *args: Any, **more: Any) -> Any:
        """Blocks until the turn is over."""
        if self.agent is None:
            self.call(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            self.session_id = self.call(2, "session/new", {"cwd": os.getcwd(), "mcpServers": []})["result"]["sessionId"]
        self.call(3, "session/prompt", {"sessionId": self.session_id, "prompt": [{"type": "text", "text": code}]})
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=PlainKernel)
