"""The processes of a runtime folder."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import psutil

from ..limits import LIMIT


def brokers(runtime: Path) -> list[psutil.Process]:
    """Those whose socket is, or was, in this folder."""
    return [process for process in psutil.process_iter() if _is_broker(process, runtime)]


def agents(runtime: Path) -> list[psutil.Process]:
    """The agents of all of them."""
    return [child for broker in brokers(runtime) for child in _children(broker) if not _is(child, "posix_session.py")]


def end_brokers(runtime: Path) -> None:
    """Those that a test has left."""
    left = brokers(runtime)
    for process in left:
        with suppress(psutil.Error):
            process.terminate()
    psutil.wait_procs(left, timeout=LIMIT)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what other processes do."""
    with anyio.fail_after(LIMIT):
        while not condition():
            await anyio.sleep(0.02)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children())
    except psutil.Error:  # it has ended meanwhile
        return []


def _is_broker(process: psutil.Process, runtime: Path) -> bool:
    try:
        return _is(process, "copilot_kernel.agentd") and process.environ().get("JUPYTER_RUNTIME_DIR") == str(runtime)
    except psutil.Error:
        return False


def _is(process: psutil.Process, name: str) -> bool:
    try:
        return any(word.endswith(name) for word in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
