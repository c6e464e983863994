"""The status of a first prompt, which stands there before anything else is imported, and what becomes of it."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from copilot_kernel.frontend.display import Display
from copilot_kernel.frontend.first_status import first_status
from copilot_kernel.rendering.status import LAST_SEEN, STARTING, render_status

from ..limits import LIMIT
from .recording import Loop, RecordingCell, said
from .test_display import turn

SHOWN = render_status(STARTING)["text/plain"]


def test_what_draws_questions_and_answers_is_imported_after_it() -> None:
    late = (
        "anyio",
        "copilot_kernel.permissions.policy",
        "copilot_kernel.rendering.question",
        "markdown_it",
        "pygments",
    )
    code = (
        f"import sys, copilot_kernel.frontend.kernel_session; print([each for each in {late} if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout == "[]\n"


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a prompt needs is not imported yet."""
    monkeypatch.setattr("copilot_kernel.frontend.first_status._IMPORTED_LAST", "copilot_kernel.no_such_module")


def display(cell: RecordingCell, loop: Loop) -> Display:
    return Display(cell, cwd="/project", loop=loop)


def fails(cell: RecordingCell) -> None:
    display(cell, Loop()).close()


def ends(cell: RecordingCell) -> None:
    view = display(cell, Loop())
    view.status("")
    view.finish(turn())


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize(("happens", "left"), [(id, ""), (fails, ""), (ends, "A · 0.0 s")])
async def test_it_is_shown_at_once_and_taken_away_by_the_end_of_a_turn_without_an_answer(
    happens: Callable[[RecordingCell], object], left: str
) -> None:
    """Also of a turn that fails, or does not begin."""
    cell = RecordingCell()
    with first_status(cell, "Hello"):
        assert cell.plain == [SHOWN]
        happens(cell)
    assert cell.plain == [left]


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize(
    ("cell", "code"),
    [
        (RecordingCell(), " %status"),
        (RecordingCell(), "\n"),
        (RecordingCell(live=False), "Hello"),
        (RecordingCell(cell_id=None), "Hello"),
    ],
    ids=["command", "nothing", "batch run", "console"],
)
async def test_nothing_else_has_one(cell: RecordingCell, code: str) -> None:
    with first_status(cell, code):
        assert cell.sent == []


async def test_a_later_prompt_has_none_before_it_takes_long() -> None:
    cell = RecordingCell()
    with first_status(cell, "Hello"):
        assert cell.sent == []


@pytest.mark.usefixtures("cold")
async def test_the_output_of_the_turn_goes_on_with_it_and_takes_it_away() -> None:
    cell, loop = RecordingCell(), Loop()
    with first_status(cell, "Hello"):
        view = display(cell, loop)
        view.status(STARTING)
        view.status("Waiting for the model")
        loop.pass_time()
        assert cell.plain == [f"{LAST_SEEN} ◐ Waiting for the model"]
        view.show(said(1, "Yes."))
        view.status("")
        view.finish(turn())
    assert cell.plain == ["", "Yes.", "A · 0.0 s"]
