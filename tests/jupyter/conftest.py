"""Kernel processes for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .front_end import ARGV, FrontEnd, kernel_process, no_settings


@pytest.fixture(scope="module")
def front_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel with the demo agent, shared by a module's tests: each leaves it idle."""
    with kernel_process(tmp_path_factory.mktemp("kernel"), {}) as front_end:
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
    folder = tmp_path_factory.mktemp("jupyter")
    spec = {"argv": ARGV, "display_name": "Copilot", "language": "copilot", "interrupt_mode": "message"}
    spec["env"] = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_DEMO_PACE": "0"}
    home = folder / "kernels" / "copilot-test"
    home.mkdir(parents=True)
    (home / "kernel.json").write_text(json.dumps(spec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        for name, value in no_settings(folder).items():
            patch.setenv(name, value)
        yield "copilot-test"
