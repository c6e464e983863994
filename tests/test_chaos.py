"""Few rounds of `python -m benchmarks chaos`: a fault that hangs a cell, leaves a process or loses anything fails here.

How quickly a kernel gets over a fault is for the benchmark alone.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SEED = 325
"""With it, each kind of fault strikes in these rounds: hung and stopped agents, killed brokers, kernels and agents."""
ROUNDS = {
    "patient": {"kills": 6, "interrupts": 12, "races": 10},
    "impatient": {"hangs": 2, "faults": 4, "clock": 4, "openings": 2, "resumes": 1},
    "long": {"turns": 20},
    "shared": {"shared-kills": 2, "shared-hangs": 2, "shared-resumes": 1},
}
ON_DISKS = {"full": {"full": 1}, "read-only": {"read-only": 1}}

Import = Callable[[str], Any]


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[Import]:
    """Import one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield lambda name: import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("group", ROUNDS)
def test_no_fault_hangs_a_cell_leaves_a_process_or_loses_anything(benchmarks: Import, group: str) -> None:
    trials = benchmarks("chaos").play(group, ROUNDS[group], SEED)
    assert [line for trial in trials.values() for line in trial.broken] == []


@pytest.mark.sandbox
@pytest.mark.parametrize("group", ON_DISKS)
def test_turns_go_on_where_nothing_can_be_written(benchmarks: Import, group: str) -> None:
    chaos = benchmarks("chaos")
    if not chaos.can_mount():
        pytest.skip("there are no mount namespaces here")
    trials = chaos.play(group, ON_DISKS[group], SEED)
    assert [line for trial in trials.values() for line in trial.broken] == []
