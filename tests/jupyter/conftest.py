"""Kernel processes for the tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ..ports import use_for_kernels
from .asked import Wire
from .front_end import ARGV, FrontEnd, installed, kernel_process

use_for_kernels()


_OF_OTHERS = ("Jupyter is migrating its paths", "There is no current event loop")  # jupyter_core 5.7, tornado
WARNINGS = ",".join(["error", *(f"ignore:{words}:DeprecationWarning" for words in _OF_OTHERS)])


@pytest.fixture(scope="module")
def front_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel with the demo agent, shared by a module's tests: each leaves it idle. No warning is an error for it."""
    with kernel_process(tmp_path_factory.mktemp("kernel"), {"PYTHONWARNINGS": WARNINGS}) as front_end:
        yield front_end
        assert front_end.complaints() == []


@pytest.fixture(scope="module")
def notebook(front_end: FrontEnd) -> FrontEnd:
    """The same, having shown that it has widgets."""
    front_end.open_control()
    return front_end


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Wire:
    return Wire(tmp_path_factory.mktemp("wire"))


@pytest.fixture(scope="module")
def wired(tmp_path_factory: pytest.TempPathFactory, wire: Wire) -> Iterator[FrontEnd]:
    """A front end with widgets, on a kernel whose agent is behind `wire`."""
    with kernel_process(tmp_path_factory.mktemp("kernel"), {"COPILOT_KERNEL_AGENT": wire.agent}) as front_end:
        front_end.open_control()
        yield front_end
        assert front_end.complaints() == []


StartKernel = Callable[..., FrontEnd]


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[StartKernel]:
    """Start a kernel of the test's own, with `NAME=value` settings in its environment."""
    with ExitStack() as stack:

        def start(argv: tuple[str, ...] = ARGV, **environ: str) -> FrontEnd:
            return stack.enter_context(kernel_process(tmp_path, environ, argv))

        yield start


@pytest.fixture(scope="session")
def kernelspec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an installed kernel that runs the demo agent; `JUPYTER_PATH` leads to it."""
    spec = {"argv": ARGV, "language": "markdown", "interrupt_mode": "message"}
    with installed(tmp_path_factory.mktemp("jupyter"), "copilot-test", **spec) as name:
        yield name
