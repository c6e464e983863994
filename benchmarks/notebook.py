"""What the extension costs a Python kernel and its cells."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from timeit import repeat, timeit

from copilot_kernel.notebook.live import NotebookCell
from copilot_kernel.notebook.results import outline
from copilot_kernel.notebook.sources import difference, source_hash, with_edits
from copilot_kernel.notebook.tools import INSTRUCTIONS, tools_for

from tests.ipython.conftest import ARGV, LOAD
from tests.ipython.fake_page import FakePage, subshell
from tests.ipython.playing import begin, prepare
from tests.jupyter.front_end import FrontEnd, kernel_process

from .report import Report

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


def run(scale: float = 1.0) -> Report:
    """The bounds are those of something that nobody notices."""
    report = Report("notebook", "the extension loaded, and cells in kernels")

    def rounds(usual: int) -> int:
        return max(3, round(usual * scale))

    with TemporaryDirectory(prefix="copilot-kernel-benchmark-") as compiled:
        kept = {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        loadings = [_load(kept) for _ in range(rounds(15) + 1)][1:]
    report.add("%load_ext copilot_kernel, CPU time, median", median(loadings) * 1000, "ms", 20)
    _add_cells(report, rounds(300))
    report.add("a turn: bytes to its page so that another can take over", _sent_for_others(rounds(20)), "bytes", 150)
    _add_reading(report, rounds(20))
    report.add("SIGINT in a blocking run → end of the cell, slowest", max(_stops(rounds(10))), "s", 1)
    return report


def _load(environ: dict[str, str]) -> float:
    """Seconds of `%load_ext`, in a kernel that has just started."""
    with _kernel(**environ) as front_end:
        return float(front_end.run(_LOADING).text)


# -- what the tools compute -----------------------------------------------------------------------------------------


def _add_reading(report: Report, rounds: int) -> None:
    """Against `json.loads` of the same notebook, which whoever reads it pays."""
    source = "".join(f"value_{number} = compute({number}, 'some text')\n" for number in range(25_000))
    edits = [{"old": "value_20000 ", "new": "total "}]

    def edit() -> None:
        if difference(source, source_hash(source)) or "total" not in with_edits(source, edits):
            raise RuntimeError("the edit has failed")

    ratio = _least(edit, rounds) / _least(partial(json.loads, _book([source])), rounds)
    report.add(f"an edit by parts in a cell of {len(source) / 1e6:.1f} MB ÷ json.loads of it", ratio, "×", 100)
    sources = [source[at * 2_000 : (at + 1) * 2_000] for at in range(500)]
    cells = [NotebookCell(f"cell-{at}", "code", each) for at, each in enumerate(sources)]
    ratio = _least(partial(outline, cells), rounds) / _least(partial(json.loads, _book(sources)), rounds)
    report.add("the outline of 500 cells (1 MB) ÷ json.loads of them", ratio, "×", 2)
    listed = [tool.listing for tool in tools_for(has_kernel=True).values()]
    report.add(
        "characters of tools/list and instructions",
        len(json.dumps(listed, separators=(",", ":"))) + len(INSTRUCTIONS),
        "",
        7_438,
    )


def _book(sources: list[str]) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]})


def _least(function: Callable[[], object], rounds: int) -> float:
    return min(repeat(function, number=1, repeat=rounds))


# -- in kernels -------------------------------------------------------------------------------------------------------


@contextmanager
def _kernel(*cells: str, **environ: str) -> Iterator[FrontEnd]:
    """A Python kernel in which these cells have run."""
    with (
        TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder,
        kernel_process(Path(folder), environ, ARGV) as front_end,
    ):
        for cell in cells:
            _ok(front_end, cell)
        yield front_end


def _ok(front_end: FrontEnd, code: str) -> None:
    outcome = front_end.run(code)
    if outcome.status != "ok":
        raise RuntimeError(outcome.error)


def _add_cells(report: Report, rounds: int) -> None:
    """From request to idle of a cell without %copilot, in three kernels by turns."""
    with ExitStack() as stack:
        kernels = [stack.enter_context(_kernel(*cells)) for cells in ((), (LOAD,), (LOAD, "%copilot demo: say Hello"))]
        sent = [len(each.published) for each in kernels]
        times = [[timeit(partial(_ok, each, _CELL), number=1) for each in kernels] for _ in range(rounds)]
        plain, *ours = (len(each.published) - before for each, before in zip(kernels, sent, strict=True))
    floor, loaded, used = (median(each[place] for each in times) for place in range(3))
    report.add("a cell without %copilot, extension loaded ÷ not loaded", loaded / floor, "×", 1.1)
    report.add("… after a turn of the agent ÷ not loaded", used / floor, "×", 1.1)
    report.add("… messages on iopub more than not loaded", max(ours) - plain, "", 0)


def _sent_for_others(turns: int) -> float:
    """Bytes for each turn of a page that sees all of them to their ends."""
    with _kernel(LOAD) as front_end:
        page = FakePage(front_end, {}, subshell(front_end))
        for _ in range(turns):
            page.play(front_end.execute("%copilot demo: say Hello"))
        sent = [each["content"]["data"] for each in front_end.published if each["msg_type"] == "comm_msg"]
    return sum(len(json.dumps(each)) for each in sent if each.get("event") in ("missed", "ended")) / turns


def _stops(rounds: int) -> list[float]:
    """Seconds from SIGINT, while code of the agent's sleeps, to the end of the waiting cell. The agent has started."""
    times = []
    with _kernel(LOAD) as front_end:
        prepare(front_end)
        for _ in range(rounds):
            request = begin(front_end, _WHEN_AT_WORK, _AT_WORK)
            front_end.shows("begun", request)
            began = time.perf_counter()
            front_end.process.send_signal(signal.SIGINT)
            front_end.finish(request)
            times.append(time.perf_counter() - began)
    return times
