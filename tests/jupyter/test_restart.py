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


def test_in_batch_each_kernel_begins_anew_and_nothing_is_saved(
    start_kernel: StartKernel, tmp_path: Path, book: Path
) -> None:
    front_end = started(start_kernel, tmp_path, book)
    front_end.run("demo: say one", live=False)
    assert not (tmp_path / "state" / "sessions").exists()
    restart(front_end)
    assert "Continues" not in front_end.run("demo: remember", live=False).text


def test_resume_shows_what_was_said_by_both(start_kernel: StartKernel, tmp_path: Path, book: Path) -> None:
    front_end = started(start_kernel, tmp_path, book)
    front_end.run("demo: say one")
    front_end.run("%new")
    front_end.run("demo: say two")
    outcome = front_end.run("%resume last", live=False)
    assert ("> demo: say one" in outcome.text, "one" in outcome.text.splitlines()) == (True, True)


# -- behind a gateway -----------------------------------------------------------------------------------------------


def test_behind_a_gateway_a_notebook_of_another_machine_is_remembered_for_its_user(
    start_kernel: StartKernel, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    gateway = {
        "KERNEL_GATEWAY": "1",
        "KERNEL_WORKING_DIR": str(project),
        "JPY_SESSION_NAME": "/elsewhere/book.ipynb",
        "COPILOT_KERNEL_STATE": str(tmp_path / "state"),
    }
    alice = start_kernel(**gateway, KERNEL_USERNAME="alice")
    assert str(project) in alice.run("demo: say mine\nunasked pwd").text
    bob = start_kernel(**gateway, KERNEL_USERNAME="bob")
    assert "Continues" not in bob.run("demo: remember").text
    restart(alice)
    assert "Continues the conversation" in alice.run("demo: remember").text


def test_behind_a_gateway_an_agent_that_is_missing_is_explained(start_kernel: StartKernel) -> None:
    front_end = start_kernel(KERNEL_GATEWAY="1", COPILOT_KERNEL_AGENT="no-such-agent")
    outcome = front_end.run("hello")
    assert "The agent works in" in outcome.text
    assert "behind a gateway" in outcome.text.partition("no-such-agent")[2]
