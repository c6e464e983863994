"""The processes of a runtime folder."""

from collections.abc import Callable
from pathlib import Path

import anyio
import psutil

from ..limits import LIMIT
from ..processes import children, facts, running


def brokers(runtime: Path) -> list[psutil.Process]:
    """Those whose socket is, or was, in this folder."""
    return running(lambda process: _is(process, "copilot_kernel.agentd") and _is_of(process, runtime))


def agents(runtime: Path) -> list[psutil.Process]:
    """The agents of all of them."""
    return [child for broker in brokers(runtime) for child in children(broker.pid, _is_agent, recursive=False)]


def end_brokers(runtime: Path) -> None:
    """Those that a test has left."""
    left = brokers(runtime)
    facts(psutil.Process.terminate, left)
    psutil.wait_procs(left, timeout=LIMIT)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what other processes do."""
    with anyio.fail_after(LIMIT):
        while not condition():
            await anyio.sleep(0.02)


def _is(process: psutil.Process, name: str) -> bool:
    return any(word.endswith(name) for word in process.cmdline())


def _is_of(process: psutil.Process, runtime: Path) -> bool:
    return process.environ().get("JUPYTER_RUNTIME_DIR") == str(runtime)


def _is_agent(process: psutil.Process) -> bool:
    return not _is(process, "posix_session.py")
