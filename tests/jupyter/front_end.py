"""A front end on a real kernel process, as tests drive it; every wait has a limit."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

import psutil
import pytest
from copilot_kernel.pages.page_comm import TARGET
from copilot_kernel.system import posix_session
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from .. import processes
from ..limits import LIMIT
from ..trusting import trust_environment

OPTIONS = ("-f", "{connection_file}", "--CopilotKernel.guard_seconds=0")
ARGV = (sys.executable, "-P", "-m", "copilot_kernel", *OPTIONS)
"""A kernel in which a click counts at once."""

SLOW_DRAWING = """
import os
from copilot_kernel.output.display import Display
finish = Display.finish
def slow(self, *turn):
    finish(self, *turn)
    self._cell.display({"text/plain": "drawing"})
    open(os.environ["GATE"]).read()
Display.finish = slow
"""
"""The end of a turn is drawn until somebody opens the gate."""

QUIET = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_DEMO_PACE": "0", "COPILOT_KERNEL_WARM_START": "off"}
"""When the agent starts does not depend on how busy the machine is."""

Message = dict[str, Any]


def until(condition: Callable[[], Any], what: str, limit: float = LIMIT) -> Any:
    """Poll something that no event tells about (processes, files)."""
    end = time.monotonic() + limit
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {limit} s: {what}"
        time.sleep(0.01)
    return value


@dataclass
class Outcome:
    """One cell's end: its reply, and what it published besides status and input."""

    reply: Message
    outputs: list[Message]

    @property
    def status(self) -> str:
        return str(self.reply["content"]["status"])

    @property
    def error(self) -> tuple[str, str]:
        content = self.reply["content"]
        return content["ename"], content["evalue"]

    @property
    def text(self) -> str:
        """All that a reader of plain text sees at the end, with what was updated in its last state."""
        return self._joined("text/plain")

    @property
    def html(self) -> str:
        """The same as HTML, with what is folded."""
        return self._joined("text/html")

    def _joined(self, kind: str) -> str:
        seen: dict[object, str] = {}
        for message in self.outputs:
            content = message["content"]
            if message["msg_type"] == "stream":
                seen[object()] = content["text"]
            elif message["msg_type"] in ("display_data", "update_display_data"):
                seen[content["transient"].get("display_id", object())] = content["data"].get(kind, "")
        return "\n".join(filter(None, seen.values()))


@dataclass
class FrontEnd:
    """A notebook front end on one kernel. `published` is all of iopub, in order; `log` the kernel's stderr.

    Unless it `has_extension`, it refuses the extension's comm, as JupyterLab does; the kernel would wait for an answer.
    """

    manager: KernelManager
    log: Path
    client: BlockingKernelClient
    published: list[Message] = field(default_factory=list)
    replies: dict[str, Message] = field(default_factory=dict)
    has_extension: bool = False

    def open_control(self) -> None:
        """Show that there are widgets, as JupyterLab does when it opens a notebook."""
        opening = {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}}
        self.idle(self.send("comm_open", opening, {"version": "1.0.0"}))

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.manager.provisioner.pid)

    def send(self, msg_type: str, content: Message | None = None, metadata: Message | None = None) -> str:
        """Send on the shell channel; the message's id."""
        message = self.client.session.msg(msg_type, content or {}, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def execute(self, code: str, *, live: bool = True, cell_id: str | None = "cell", **more: Any) -> str:
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        content |= {"allow_stdin": live, "stop_on_error": True, **more}
        return self.send("execute_request", content, {"cellId": cell_id} if cell_id else {})

    def control(self, msg_type: str, content: Message | None = None) -> Message:
        """Send on the control channel; the content of the reply."""
        message = self.client.session.msg(msg_type, content or {})
        self.client.control_channel.send(message)
        while (reply := self.client.get_control_msg(timeout=LIMIT))["parent_header"]["msg_id"] != message["msg_id"]:
            pass
        return dict(reply["content"])

    def see(self, wanted: Callable[[Message], bool], limit: float = LIMIT, start: int = 0) -> Message:
        """The first message on iopub, from number `start` on, that is wanted."""
        end = time.monotonic() + limit
        for index in range(start, 1_000_000):
            while index >= len(self.published):
                try:
                    self._receive(self.client.get_iopub_msg(timeout=max(0.0, end - time.monotonic())))
                except Empty:
                    last = [f"{m['msg_type']} {str(m['content'])[:300]}" for m in self.published[-5:]]
                    raise AssertionError("\n".join([f"nothing such within {limit} s; the last:", *last])) from None
            if wanted(self.published[index]):
                return self.published[index]
        raise AssertionError("a flood")

    def _receive(self, message: Message) -> None:
        self.published.append(message)
        if not self.has_extension and message["content"].get("target_name") == TARGET:
            self.send("comm_close", {"comm_id": message["content"]["comm_id"], "data": {}})

    def idle(self, request: str, limit: float = LIMIT) -> Message:
        return self.see(lambda m: is_status(m, "idle") and parent(m) == request, limit)

    def reply(self, request: str, limit: float = LIMIT) -> Message:
        end = time.monotonic() + limit
        while request not in self.replies:
            message = self.client.get_shell_msg(timeout=max(0.0, end - time.monotonic()))
            self.replies[parent(message)] = message
        return self.replies[request]

    def finish(self, request: str, limit: float = LIMIT) -> Outcome:
        reply = self.reply(request, limit)
        self.idle(request)
        return Outcome(reply, self.outputs(request))

    def outputs(self, request: str) -> list[Message]:
        return [m for m in self.published if is_output(m, request)]

    def run(self, code: str, limit: float = LIMIT, **options: Any) -> Outcome:
        return self.finish(self.execute(code, **options), limit)

    def ask(self, msg_type: str, content: Message | None = None) -> Message:
        """Send a request on the shell channel; the content of the reply."""
        return dict(self.reply(self.send(msg_type, content))["content"])

    def type(self, line: str) -> Message:
        """Answer the next request for a line of input; the request."""
        request = self.client.get_stdin_msg(timeout=LIMIT)
        self.client.input(line)
        return dict(request)

    def shows(self, text: str, request: str) -> Message:
        """Wait until the cell shows `text`."""
        return self.see(lambda m: is_output(m, request) and text in str(m["content"]))

    def button(self, name: str, since: int = 0) -> str:
        """The model id of the button that says `name`."""

        def wanted(message: Message) -> bool:
            state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
            return state.get("_model_name") == "ButtonModel" and state.get("description") == name

        return str(self.see(wanted, start=since)["content"]["comm_id"])

    def click(self, model: str) -> str:
        """As soon as a click counts; a button that is gone is pressed all the same."""
        self.ready(model)
        return self.press(model)

    def ready(self, model: str) -> None:
        """Wait until a click on a button would count, or it has gone."""
        seen = len(self.published)
        while models(self.published).get(model, {}).get("disabled"):
            self.see(lambda m: is_about(m, model), start=seen)
            seen = len(self.published)

    def press(self, model: str) -> str:
        """At once, whatever the state of the button."""
        return self.comm(model, {"method": "custom", "content": {"event": "click"}})

    def comm(self, comm_id: str, data: Message) -> str:
        return self.send("comm_msg", {"comm_id": comm_id, "data": data})

    def complaints(self) -> list[str]:
        """What went wrong, as the kernel's log tells it."""
        signs = ("ERROR", "Traceback", "never retrieved", "was destroyed", "never awaited")
        return [line for line in self.log.read_text().splitlines() if any(sign in line for sign in signs)]

    def children(self, name: str = "") -> list[psutil.Process]:
        """The agent and what it runs, without the kernel's own reaper; those of a program's `name` if it is given."""

        def wanted(child: psutil.Process) -> bool:
            return posix_session.__file__ not in child.cmdline() and name in ("", child.name())

        return processes.children(self.process.pid, wanted)


def models(published: list[Message]) -> dict[str, Message]:
    """The state of each widget model that is open after these messages, by its id."""
    states: dict[str, Message] = {}
    for message in published:
        content = message["content"]
        data = content.get("data") or {}
        match message["msg_type"]:
            case "comm_open":
                states[content["comm_id"]] = dict(data.get("state", {}))
            case "comm_msg" if data.get("method") == "update" and content["comm_id"] in states:
                states[content["comm_id"]] |= data["state"]
            case "comm_close":
                states.pop(content["comm_id"], None)
    return states


def is_about(message: Message, model: str) -> bool:
    """It changes a model, or says that it has gone."""
    return message["msg_type"] in ("comm_msg", "comm_close") and message["content"]["comm_id"] == model


def parent(message: Message) -> str:
    return str(message["parent_header"].get("msg_id"))


def is_output(message: Message, request: str) -> bool:
    return parent(message) == request and message["msg_type"] not in ("status", "execute_input")


def is_status(message: Message, state: str) -> bool:
    return message["msg_type"] == "status" and message["content"]["execution_state"] == state


def states(front_end: FrontEnd, *requests: str) -> list[str]:
    """What was published about the kernel for these requests, in order."""
    found = (m for m in front_end.published if m["msg_type"] == "status" and parent(m) in requests)
    return [f"{requests.index(parent(m))} {m['content']['execution_state']}" for m in found]


@contextmanager
def kernel_process(folder: Path, environ: Mapping[str, str], argv: tuple[str, ...] = ARGV) -> Iterator[FrontEnd]:
    log = folder / "kernel.log"
    env = {**os.environ, **no_settings(folder), **QUIET, **environ}
    trust_environment(env)
    # Another process may take a TCP port between its choice here and the kernel's start; a Unix socket stays free.
    sockets = tempfile.TemporaryDirectory(prefix="kernel-")  # short: the path of a socket has at most 107 characters
    manager = KernelManager(
        connection_file=str(folder / "connection.json"), transport="ipc", ip=str(Path(sockets.name) / "socket")
    )
    manager._kernel_spec = KernelSpec(
        argv=list(argv), display_name="Copilot", language="markdown", interrupt_mode="message"
    )
    work = folder / "work"
    work.mkdir(exist_ok=True)
    with sockets, log.open("wb") as stderr:
        manager.start_kernel(cwd=str(work), env=env, stderr=stderr)
        try:
            with connected(manager, log) as front_end:
                yield front_end
        finally:
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()


@contextmanager
def connected(manager: KernelManager, log: Path) -> Iterator[FrontEnd]:
    """A front end with a session of its own; several may be connected to one kernel, as tabs of a browser are."""
    client = manager.client()
    client.session.session = uuid4().hex
    try:
        client.start_channels()
        client.wait_for_ready(timeout=LIMIT)
        yield FrontEnd(manager, log, client)
    finally:
        client.stop_channels()


@contextmanager
def installed(folder: Path, name: str, **spec: Any) -> Iterator[str]:
    """The name of a kernel that clients find, with the demo agent."""
    home = folder / "kernels" / name
    home.mkdir(parents=True)
    env = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_DEMO_PACE": "0"}
    (home / "kernel.json").write_text(json.dumps({"display_name": name, "env": env, **spec}))
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in {**no_settings(folder), "JUPYTER_PATH": str(folder)}.items():
            patch.setenv(variable, value)
        yield name


def no_settings(folder: Path) -> dict[str, str]:
    """No settings and no profile of whoever runs the tests."""
    return {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
