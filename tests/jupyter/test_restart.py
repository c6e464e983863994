"""A notebook's conversation over the lives of its kernels, seen from a front end."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import StartKernel
from .front_end import START_LIMIT, FrontEnd


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.ipynb"
    path.write_text("{}")
    return path


def started(start_kernel: StartKernel, tmp_path: Path, book: Path) -> FrontEnd:
    state = str(tmp_path / "state")
    return start_kernel(JPY_SESSION_NAME=str(book), COPILOT_KERNEL_STATE=state)


def restart(front_end: FrontEnd) -> None:
    front_end.manager.restart_kernel(now=True)
    front_end.client.wait_for_ready(timeout=START_LIMIT)


def test_after_a_restart_the_next_cell_goes_on(start_kernel: StartKernel, tmp_path: Path, book: Path) -> None:
    front_end = started(start_kernel, tmp_path, book)
    front_end.run("demo: say one")
    restart(front_end)
    outcome = front_end.run("demo: remember")
    assert ("Continues the conversation" in outcome.text, "say one" in outcome.text) == (True, True)


# -- behind a gateway -----------------------------------------------------------------------------------------------
