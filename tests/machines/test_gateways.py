"""Notebooks whose kernels run on Kernel Gateway, or on Enterprise Gateway beside it and as remote kernels."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from ..jupyter.asked import ALLOW, Asked
from .engine import await_none_of, belonging_to
from .gateways import Gateway, enterprise_gateway, kernel_gateway, running_gateway, running_lab
from .remote import Remote, RemoteNotebook

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

GatewayMaker = Callable[[], Gateway]
CANCELLED = ("Cancelled", "Stopped.")
PLACES = {
    "Kernel Gateway": (kernel_gateway, "copilot"),
    "Enterprise Gateway": (enterprise_gateway, "copilot"),
    "remote kernel of Enterprise Gateway": (enterprise_gateway, "copilot_remote"),
}


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[GatewayMaker], tuple[Remote, Path]]]:
    """A Jupyter server for each gateway that is asked for, and the folder of its notebooks."""
    with ExitStack() as stack:

        @cache
        def lab(make: GatewayMaker) -> tuple[Remote, Path]:
            root = tmp_path_factory.mktemp("gateway")
            return stack.enter_context(running_lab(make(), root)), root / "lab" / "work"

        yield lab


@pytest.fixture(scope="module", params=PLACES.values(), ids=PLACES.keys())
def book(request: pytest.FixtureRequest, labs: Callable[[GatewayMaker], tuple[Remote, Path]]) -> Iterator["Book"]:
    make, kernel = request.param
    remote, work = labs(make)
    (work / kernel).mkdir()
    with remote.notebook(f"{kernel}/book.ipynb", kernel) as notebook:
        yield notebook, work / kernel


Book = tuple[RemoteNotebook, Path]
"""A notebook, and the folder that it is in."""


def test_a_question_is_answered_by_a_click_and_the_agent_works_in_the_notebooks_folder(book: Book) -> None:
    notebook, folder = book
    asked = Asked(notebook, "demo: create made.txt one\nsay Done.")
    assert not (folder / "made.txt").exists()
    asked.click(ALLOW)
    outcome = asked.finish()
    assert (outcome.status, "Done." in outcome.text, (folder / "made.txt").read_text()) == ("ok", True, "one")


def test_an_interrupt_cancels_the_turn_and_the_cells_behind_it(book: Book) -> None:
    notebook, _ = book
    asked, queued = Asked(notebook, "demo: ask"), notebook.execute("demo: say Never")
    notebook.interrupt()
    assert asked.finish().error == CANCELLED
    assert notebook.finish(queued).status == "aborted"
    assert notebook.run("demo: say Next").status == "ok"


def test_a_kernel_that_is_restarted_resumes_the_conversation_of_its_notebook(book: Book) -> None:
    notebook, _ = book
    notebook.run("demo: say Before")
    before = session_of(notebook)
    notebook.restart()
    notebook.run("demo: say After")
    assert session_of(notebook) == before


def session_of(notebook: RemoteNotebook) -> str:
    """The line of `%status` with the session's id."""
    (line,) = [line for line in notebook.run("%status").text.splitlines() if line.startswith("Session")]
    return line


@pytest.mark.parametrize(
    ("make", "kernels", "end"),
    [
        (kernel_gateway, ["copilot"], "terminate"),
        (kernel_gateway, ["copilot"], "kill"),
        (enterprise_gateway, ["copilot", "copilot_remote"], "terminate"),
    ],
)
def test_the_end_of_a_gateway_while_questions_are_open_leaves_no_process(
    make: GatewayMaker, kernels: list[str], end: str, tmp_path: Path
) -> None:
    with running_gateway(make(), tmp_path / "gateway") as running:
        for kernel in kernels:
            with running.notebook(kernel) as notebook:
                Asked(notebook, "demo: ask")
        assert len(belonging_to(running.home)) > 2 * len(kernels)
        getattr(running.process, end)()
        await_none_of(running.home)
