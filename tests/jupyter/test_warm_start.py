"""Kernels whose agent starts before the first prompt: what front ends see of it, and that nothing is left behind."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from copilot_kernel.undo.repository import Repository
from copilot_kernel.undo.tree import Tree, digest_of

from ..agent.command import COMMAND
from ..agentd.brokers import agents, brokers, end_brokers
from ..processes import children, gone, has_argument
from .conftest import StartKernel
from .ending import by_kill, by_shutdown
from .front_end import LIMIT, OPTIONS, QUIET, FrontEnd, is_status, parent, until

ON = {**QUIET, "COPILOT_KERNEL_WARM_START": "on"}
SHORT = """
from copilot_kernel.__main__ import main
from copilot_kernel.agentd import client
client.IDLE_SECONDS = 0.5
main()
"""
"""A kernel that shares its agent, which ends soon after the last notebook."""


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A path that is short enough for a socket, and no broker that outlives the test."""
    with tempfile.TemporaryDirectory(prefix="ck-") as folder:
        yield Path(folder)
        end_brokers(Path(folder))


def agents_of(kernel: psutil.Process) -> list[psutil.Process]:
    """Without what undo runs."""
    return children(kernel.pid, has_argument(COMMAND[-1]))


def test_the_agent_starts_unnoticed_and_serves_the_first_prompt(start_kernel: StartKernel) -> None:
    front_end = start_kernel(**ON)
    (agent,) = until(lambda: agents_of(front_end.process), "the agent is started", LIMIT)
    cell = front_end.execute("demo: say Hello")
    assert front_end.finish(cell).status == "ok"
    assert agents_of(front_end.process) == [agent]
    other = [message for message in front_end.published if parent(message) != cell]
    assert [m["msg_type"] for m in other if not (is_status(m, "busy") or is_status(m, "idle"))] == []
    assert front_end.complaints() == []


# -- nothing is left ------------------------------------------------------------------------------------------------


def files_below(folder: Path) -> set[str]:
    return {os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder) for name in names}


@pytest.mark.parametrize("sharing", ["off", "user"])
@pytest.mark.parametrize(("warmed", "end"), [(False, by_shutdown), (True, by_shutdown), (True, by_kill)])
def test_opening_and_closing_a_notebook_leaves_nothing_behind(
    start_kernel: StartKernel,
    tmp_path: Path,
    runtime: Path,
    sharing: str,
    warmed: bool,
    end: Callable[[FrontEnd], None],
) -> None:
    """Closed at once, closed while the agent starts, or killed then."""
    kept = {name: tmp_path / name for name in ("COPILOT_KERNEL_STATE", "COPILOT_KERNEL_DEMO_HOME", "TMPDIR")}
    kept["TMPDIR"].mkdir()
    environ = {**{name: str(path) for name, path in kept.items()}, "JUPYTER_RUNTIME_DIR": str(runtime)}
    argv = (sys.executable, "-P", "-c", SHORT, *OPTIONS)
    front_end = start_kernel(argv, **ON, **environ, COPILOT_KERNEL_AGENT_SHARING=sharing)
    kernel = front_end.process
    if warmed:
        until(lambda: agents_of(kernel) if sharing == "off" else agents(runtime), "the agent is started")
    processes = [kernel, *children(kernel.pid)]
    end(front_end)
    until(lambda: all(map(gone, processes)) and not brokers(runtime), "the end of all processes")
    repository = Repository(Tree(str(tmp_path)), kept["COPILOT_KERNEL_STATE"] / "undo")
    repository.store(digest_of(b""), b"")  # what undo had saved of a killed kernel goes with the next one
    repository.close()
    left = {name: files_below(path) for name, path in {**kept, "work": tmp_path / "work"}.items()}
    assert left == {name: set() for name in left}
    assert {Path(name).suffix for name in files_below(runtime)} <= {".lock"}
