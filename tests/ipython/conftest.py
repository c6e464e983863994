"""Stock Python kernels with the extension loaded, for the tests of this folder."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ..jupyter.front_end import FrontEnd, kernel_process
from ..ports import use_for_kernels
from .playing import prepare

ARGV = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
LOAD = "%load_ext copilot_kernel"

StartKernel = Callable[..., FrontEnd]

use_for_kernels()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """ipykernel's own kernel with the demo agent, shared by a module's tests: each leaves it idle."""
    with kernel_process(tmp_path_factory.mktemp("kernel"), {}, ARGV) as front_end:
        assert front_end.run(LOAD).status == "ok"
        yield front_end
        assert front_end.complaints() == []


@pytest.fixture(scope="module")
def agent(notebook: FrontEnd) -> FrontEnd:
    """The same, whose agent plays what a test writes; see `playing.py`."""
    return prepare(notebook)


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[StartKernel]:
    """Start a kernel of the test's own, with `NAME=value` settings in its environment."""
    with ExitStack() as stack:

        def start(load: bool = True, **environ: str) -> FrontEnd:
            front_end = stack.enter_context(kernel_process(tmp_path, environ, ARGV))
            assert not load or front_end.run(LOAD).status == "ok"
            return front_end

        yield start
