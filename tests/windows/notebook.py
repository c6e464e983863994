"""A notebook on Windows: its kernel, what it shows, the answers to its questions, and the page that shows its cells."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from ..limits import LIMIT
from .processes import descendants, until

COPILOT = (sys.executable, "-P", "-m", "copilot_kernel", "-f", "{connection_file}")
PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
FIRST = "demo: say hello there, whoever you are"
ENDLESS = "import os, time; open('started', 'x').close(); time.sleep(600)"

Json = dict[str, Any]


class Notebook:
    """A kernel with a notebook in the folder `project`, and its user, who allows everything."""

    def __init__(self, project: Path, argv: tuple[str, ...] = COPILOT) -> None:
        self.project = project
        cell = {"cell_type": "code", "source": FIRST, "metadata": {}, "outputs": [], "execution_count": None}
        saved = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
        (project / "book.ipynb").write_text(json.dumps(saved), "utf-8")
        self.manager = KernelManager()
        self.manager._kernel_spec = KernelSpec(
            argv=list(argv), display_name="", language="", interrupt_mode="message" if argv is COPILOT else "signal"
        )
        environ = {**os.environ, "JPY_SESSION_NAME": str(project / "book.ipynb")}
        self.manager.start_kernel(cwd=str(project), env=environ)
        self._comm = self._request = ""
        self.connect()

    def connect(self, cells: dict[str, str] | None = None) -> None:
        """Connect another front end, which shows these cells, by id, in a page; or has no page."""
        self.client, self.cells = self.manager.blocking_client(), cells
        self.client.session.metadata = {"cellId": "prompt"} if cells else {}
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, code: str, answer: str = "1") -> tuple[str, str]:
        """The status of the reply, and everything that was shown; `answer` is that to each question."""
        shown: list[str] = []

        def on_output(message: Json) -> None:
            content = message["content"]
            shown.append(
                str(content.get("text") or content.get("data", {}).get("text/plain") or content.get("evalue", ""))
            )
            if self.cells is not None:
                self._on_comm(message["msg_type"], content, self.cells)

        def on_question(message: Json) -> None:
            self.client.input(answer)

        reply = self.client.execute_interactive(
            code, timeout=LIMIT, allow_stdin=True, output_hook=on_output, stdin_hook=on_question
        )
        return reply["content"]["status"], "\n".join(shown)

    def run_endless(self, directive: str = "shell") -> set[int]:
        """Have the agent begin a command that does not end; return the processes that are there meanwhile."""
        (started := self.project / "started").unlink(missing_ok=True)
        code = f'demo: {directive} "{sys.executable}" -c "{ENDLESS}"'
        self._request = self.client.execute(code, allow_stdin=True)
        self.client.get_stdin_msg(timeout=LIMIT)
        self.client.input("1")
        until(started.exists, "the command")
        return descendants(self.pid)

    def interrupt(self) -> str:
        """Interrupt what does not end; return the status of the reply."""
        self.manager.interrupt_kernel()
        while (reply := self.client.get_shell_msg(timeout=LIMIT))["parent_header"]["msg_id"] != self._request:
            pass
        return str(reply["content"]["status"])

    @property
    def pid(self) -> int:
        return int(self.manager.provisioner.process.pid)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()

    def _on_comm(self, kind: str, content: Json, cells: dict[str, str]) -> None:
        """Answer the kernel as the extension of JupyterLab does."""
        if kind == "comm_open" and content["target_name"] == "copilot.notebook":
            self._comm = content["comm_id"]
            session = self.client.session.session
            self._send({"hello": 1, "session": session, "path": "book.ipynb", "app": "JupyterLab", "version": "4"})
        elif kind == "comm_msg" and content["comm_id"] == self._comm and (calls := content["data"].get("calls")):
            replies = [{"call": call["call"], "result": _do(call["op"], call["args"], cells)} for call in calls]
            self._send({"replies": replies})

    def _send(self, data: Json) -> None:
        message = self.client.session.msg("comm_msg", {"comm_id": self._comm, "data": data})
        self.client.shell_channel.send(message)


def _do(op: str, args: Json, cells: dict[str, str]) -> Json:
    match op:
        case "read":
            code = {"type": "code", "execution_count": None, "outputs": None}
            ids = args.get("ids", list(cells))
            return {"cells": [{**code, "id": id, "source": cells[id]} for id in ids], "asking": next(iter(cells))}
        case "edit":
            cells[args["id"]] = args["source"]
    return {}
