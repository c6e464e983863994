"""A question that no client shows any more is cancelled; one that a client shows, or may still show, is not."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.chat import Turn, View
from copilot_kernel.frontend import questions
from copilot_kernel.frontend.kernel_session import NOTICE, KernelSession
from copilot_kernel.permissions.question import PermissionAnswer

from ..limits import LIMIT, settled, until
from .asked import QUESTION, Clock, Models, Place, ask, ask_ready
from .recording import ALLOW, REJECT, RecordingCell

JUPYTERLAB_AUTOSAVE_SECONDS = 120
UNSEEN = PermissionAnswer(None, "cancel", questions.NOT_SHOWN)


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "GRACE_SECONDS", 0)


def test_the_grace_time_is_longer_than_jupyterlab_waits_to_save_by_itself() -> None:
    assert questions.GRACE_SECONDS > JUPYTERLAB_AUTOSAVE_SECONDS


# -- a page was loaded ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_grace")
@pytest.mark.parametrize("seen", [True, False])
async def test_a_question_that_no_page_draws_is_cancelled(models: Models, seen: bool) -> None:
    cell = RecordingCell(seen=seen)
    asked = await ask_ready(models, cell, Place())
    cell.clients.connected("a page loaded later")
    assert await asked.wait() == UNSEEN


async def test_one_that_a_page_draws_is_not(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shown, lost = Clock(monkeypatch), RecordingCell(), RecordingCell()
    first = await ask_ready(models, shown, Place())
    shown.clients.connected("a page loaded later")
    await models.probed()
    models.draw()
    second = await ask(lost, Place(), replace(QUESTION, key=2))
    lost.clients.connected("a page loaded later")
    await models.probed(2)
    clock.now += questions.GRACE_SECONDS
    assert await second.wait() == UNSEEN
    assert not first.task.done()
    await models.released()
    models.click(models.buttons("Allow once")[0])
    assert await first.wait() == PermissionAnswer(ALLOW, "you")


async def test_a_page_that_is_loaded_while_another_has_time_gets_its_own(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, cell = Clock(monkeypatch), RecordingCell()
    asked = await ask_ready(models, cell, Place())
    cell.clients.connected("slow")
    await models.probed()
    cell.clients.connected("loaded again")
    clock.now += questions.GRACE_SECONDS
    await models.probed(2)
    models.draw()
    models.click(models.buttons("Deny")[0])
    assert await asked.wait() == PermissionAnswer(REJECT, "you")


@pytest.mark.usefixtures("no_grace")
async def test_one_that_was_saved_with_the_notebook_is_not(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = tmp_path / "notebook.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    cell, place = RecordingCell(), Place()
    asked = await ask_ready(models, cell, place)
    notebook.write_text(json.dumps({"outputs": [place.buttons[0]]}))
    loop, looked, look = asyncio.get_running_loop(), asyncio.Event(), questions._is_saved

    def is_saved(widgets: Any) -> bool:
        loop.call_soon_threadsafe(looked.set)
        return look(widgets)

    monkeypatch.setattr(questions, "_is_saved", is_saved)
    cell.clients.connected("a page loaded later")
    await asyncio.wait_for(looked.wait(), LIMIT)
    await until(lambda: asked.task.done() or cell.clients._waiting)
    assert not asked.task.done()
    notebook.write_text("{}")
    cell.clients.connected("a page that was loaded after it was saved without")
    assert await asked.wait() == UNSEEN


# -- no page was loaded ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_grace")
async def test_without_another_page_a_question_waits_for_ever(models: Models) -> None:
    """Nor because of one that was there before the cell began."""
    cell = RecordingCell()
    cell.clients.connected("an old tab")
    cell.others_before = cell.clients.others(cell.session)
    asked = await ask_ready(models, cell, Place())
    cell.clients.connected(cell.session)
    await settled()
    assert (asked.task.done(), models.probes()) == (False, [])
    models.click(models.buttons("Deny")[0])
    assert await asked.wait() == PermissionAnswer(REJECT, "you")


# -- what is left ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_grace")
async def test_the_next_page_is_told(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    lost, again = RecordingCell(), RecordingCell()
    kernel_session = KernelSession()

    async def prompt(_: object, view: View) -> Turn:
        lost.clients.connected("a page loaded later")
        assert (await asyncio.wait_for(view.ask(QUESTION), LIMIT)).option is None
        return Turn(1, "end_turn", "", (), "session", "agent")

    monkeypatch.setattr(kernel_session, "ask", prompt)
    await kernel_session.run(lost, "Edit")
    before = lost.printed
    kernel_session.report_notices(lost)
    assert lost.printed == before
    again.session = "a page loaded later"
    for _ in range(2):
        kernel_session.report_notices(again)
    assert again.printed == f"⚠ {NOTICE.format('Change this file? Edit notes.txt')}"
