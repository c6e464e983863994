"""What the extension costs a Python kernel: to load it, in cells that do not use it, and until ■ ends a run."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.ipython.conftest import ARGV, LOAD
from tests.ipython.playing import begin, prepare
from tests.jupyter.front_end import FrontEnd, kernel_process

KINDS = ("without the extension", "with it loaded", "after a turn of the agent's")

# What the extension imports itself counts, but nothing that a user's kernel has anyway. CPU time.
_LOADING = f"""
import ipywidgets, time
began = time.process_time()
get_ipython().run_line_magic(*{tuple(LOAD.removeprefix("%").split())!r})
print(time.process_time() - began)
"""
_CELL = "\n".join(f"x{number} = [each for each in range(10)]" for number in range(20))
_SLEEPING = "import time; print('begun', flush=True); time.sleep(60)"
_AT_WORK = "%%copilot\ndemo: unasked touch at-work; sh wait.sh"
_WHEN_AT_WORK = f"""
from pathlib import Path
while not Path("at-work").exists():
    await asyncio.sleep(0.01)
Path("at-work").unlink()
await notebook.run_python({_SLEEPING!r})
"""


def loadings(rounds: int) -> list[float]:
    """Seconds of `%load_ext`, each in a kernel that has just started; what was compiled then is kept."""
    times = []
    with TemporaryDirectory(prefix="copilot-kernel-benchmark-") as compiled:
        for _ in range(rounds + 1):
            with _kernel(PYTHONPYCACHEPREFIX=compiled, PYTHONDONTWRITEBYTECODE="") as front_end:
                times.append(float(front_end.run(_LOADING).text))
    return times[1:]


def cells(rounds: int) -> dict[str, list[float]]:
    """Seconds from request to idle of a cell without %copilot, in three kernels by turns."""
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with ExitStack() as stack:
        plain, loaded, used = (stack.enter_context(_kernel()) for _ in KINDS)
        _ok(loaded, LOAD)
        _ok(used, LOAD)
        _ok(used, "%copilot demo: say Hello")
        for _ in range(rounds):
            for kind, front_end in zip(KINDS, (plain, loaded, used), strict=True):
                began = time.perf_counter()
                _ok(front_end, _CELL)
                times[kind].append(time.perf_counter() - began)
    return times


def stops(rounds: int) -> list[float]:
    """Seconds from SIGINT, while code of the agent's sleeps, to the end of the waiting cell. The agent has started."""
    times = []
    with _kernel() as front_end:
        _ok(front_end, LOAD)
        prepare(front_end)
        for _ in range(rounds):
            request = begin(front_end, _WHEN_AT_WORK, _AT_WORK)
            front_end.shows("begun", request)
            began = time.perf_counter()
            front_end.process.send_signal(signal.SIGINT)
            front_end.finish(request)
            times.append(time.perf_counter() - began)
    return times


def _ok(front_end: FrontEnd, code: str) -> None:
    outcome = front_end.run(code)
    if outcome.status != "ok":
        raise RuntimeError(outcome.error)


@contextmanager
def _kernel(**environ: str) -> Iterator[FrontEnd]:
    with (
        TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder,
        kernel_process(Path(folder), environ, ARGV) as front_end,
    ):
        yield front_end
