"""The kernel, which appends to the file that `BENCHMARK_WALKS` names the modules of ours that each walk enters.

A walk lies between two marks, at the ends of our code: Jupyter's call for a cell, bytes of the agent's pipes, and
messages to front ends. `sys.settrace` sees each function that is entered or resumed, in all threads; `sys.monitoring`
would, too, but not on Python 3.11.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any
from unittest.mock import patch

import copilot_kernel
import copilot_widgets

ROOTS = tuple(os.path.join(os.path.dirname(str(module.__file__)), "") for module in (copilot_kernel, copilot_widgets))
# By its name, where each walk that has begun has been so far.
running: dict[str, set[str]] = {}


def note(frame: FrameType, *_: Any) -> None:
    """Trace function."""
    if running and (file := frame.f_code.co_filename).startswith(ROOTS):
        for modules in tuple(running.values()):
            modules.add(file)


def begin(name: str) -> None:
    """Begin a walk, unless it has begun."""
    running.setdefault(name, set())


def end(name: str) -> None:
    """Write down where it was."""
    if (modules := running.pop(name, None)) is not None:
        names = sorted(os.path.relpath(module, os.path.dirname(os.path.dirname(ROOTS[0]))) for module in modules)
        with open(os.environ["BENCHMARK_WALKS"], "a") as file:
            file.write(json.dumps({"name": name, "modules": names}) + "\n")


def before(owner: type, method: str, mark: Callable[..., None]) -> None:
    """Call `mark` with the arguments of each call of the method, before it."""
    work = getattr(owner, method)

    @wraps(work)
    def marked(*args: Any, **more: Any) -> Any:
        mark(*args, **more)
        return work(*args, **more)

    setattr(owner, method, marked)


def main() -> None:
    """Set the marks, and run the kernel."""
    sys.settrace(note)
    threading.settrace(note)
    from copilot_kernel.__main__ import main
    from copilot_kernel.acp.transport import PipeTransport
    from copilot_kernel.jupyter.kernel import CopilotKernel
    from jupyter_client.session import Session

    def sent(_: object, data: bytes) -> None:
        if b'"session/prompt"' in data:
            end("prompt")
        elif b'"outcome"' in data:
            end("question")

    def published(*message: Any, **more: Any) -> None:
        if "chunk" in running and "word" in str((message, more)):
            end("chunk")

    receive = PipeTransport.receive

    async def received(transport: PipeTransport) -> bytes:
        data = await receive(transport)
        for sign, name in ((b"agent_message_chunk", "chunk"), (b"session/request_permission", "question")):
            if sign in data:
                begin(name)
        return data

    before(CopilotKernel, "do_execute", lambda *_, **more: begin("prompt"))
    before(PipeTransport, "send", sent)
    before(Session, "send", published)
    with patch.object(PipeTransport, "receive", received):
        main()


if __name__ == "__main__":
    main()
