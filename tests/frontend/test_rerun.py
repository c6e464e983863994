"""Running a cell again whose last turn changed files; the agent is a function."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.chat import Turn
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.errors import CopilotError
from copilot_kernel.frontend import rerun
from copilot_kernel.frontend.kernel_session import KernelSession
from copilot_kernel.frontend.page_notebook import PageNotebook
from copilot_kernel.rendering.rerun import render_saved
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import LIMIT
from .asked import Models
from .recording import Bundle, RecordingCell, call, said

pytestmark = pytest.mark.anyio

FILES = "This prompt changed a.py, b.py last time"
SENT = f"ℹ {FILES}. This run starts from the changed files."
HOW = "To send the prompt again, change it or set COPILOT_KERNEL_RERUN=run."
KEPT = f"ℹ Not sent (rerun = keep). {FILES}.\nIts answer stands below. {HOW}"
LOST = f"ℹ Not sent (rerun = keep). {FILES}.\nIts answer is not recorded. {HOW}"


def edits(entry_id: int, *paths: str) -> list[ToolCall]:
    return [
        call(number, kind="edit", content=(Diff(path, "old\n", "new\n"),))
        for number, path in enumerate(paths, entry_id)
    ]


@dataclass
class Kernel:
    """A kernel's session; its agent changes two files in each turn whose prompt says so."""

    session: KernelSession
    prompts: list[str]
    fails: bool = False
    stop_reason: str = "end_turn"
    changes: bool = True

    async def ask(self, blocks: Any, view: Any) -> Turn:
        text = blocks[0].text
        self.prompts.append(text)
        calls = edits(10, "a.py", "b.py") if self.changes and "change" in text else []
        for entry in (said(1, f"# Answer {len(self.prompts)}"), *calls):
            view.show(entry)
        if self.fails:
            raise CopilotError("The agent ended.")
        return Turn(len(self.prompts), self.stop_reason, "Answer", tuple(calls), "session", "Agent")

    async def run(self, code: str, cell: RecordingCell | None = None, **values: str) -> RecordingCell:
        cell = cell or again()
        cell.source = cell.source or code
        await self.session.run(cell, code, values)  # type: ignore[arg-type]
        return cell

    def set(self, value: str) -> None:
        context = self.session.command_context
        context.settings = replace(context.settings, rerun=value)


def again(live: bool = True, cell_id: str = "cell", request_id: str = "") -> RecordingCell:
    """The cell, run once more."""
    cell = RecordingCell(live)
    cell.cell_id, cell.widgets = cell_id, False
    cell.request_id = request_id or cell.request_id
    return cell


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "demo")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return started(monkeypatch)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_RERUN", "keep")


def started(monkeypatch: pytest.MonkeyPatch, notebook: PageNotebook | None = None) -> Kernel:
    """A kernel that has just begun."""
    kernel = Kernel(KernelSession(guard_seconds=0, notebook=notebook), [])
    kernel.session.is_introduced = True
    monkeypatch.setattr(kernel.session, "ask", kernel.ask)
    return kernel


def outputs(cell: RecordingCell) -> list[tuple[Bundle, Bundle]]:
    """As a notebook saves them."""
    return list(cell.shown.values())


async def test_with_another_value_it_is_another_prompt(kernel: Kernel) -> None:
    kernel.set("keep")
    for row in ("one", "two", "two"):
        await kernel.run("change $row", row=row)
    assert kernel.prompts == ["change $row"] * 2


# -- run ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("live", [True, False])
async def test_a_prompt_whose_last_turn_changed_files_says_so_and_is_sent_again(kernel: Kernel, live: bool) -> None:
    first, second, third = [await kernel.run("change", again(live)) for _ in range(3)]
    assert ("last time" in first.printed, second.plain[0], third.plain[0]) == (False, SENT, SENT)
    assert kernel.prompts == ["change"] * 3
    assert [text.startswith("ℹ") for text in third.plain].count(True) == 1


@pytest.mark.usefixtures("keep")
async def test_another_prompt_another_cell_and_a_turn_without_changes_are_sent_as_ever(kernel: Kernel) -> None:
    await kernel.run("change")
    cells = [await kernel.run("change it"), await kernel.run("change", again(cell_id="another"))]
    cells += [await kernel.run("look", again(cell_id="third")) for _ in range(2)]
    assert (len(kernel.prompts), ["last time" in cell.printed for cell in cells]) == (5, [False] * 4)


async def test_only_the_last_turn_counts(kernel: Kernel) -> None:
    await kernel.run("change")
    kernel.changes = False
    await kernel.run("change")
    kernel.set("keep")
    assert ("last time" in (await kernel.run("change")).printed, len(kernel.prompts)) == (False, 3)


@pytest.mark.usefixtures("keep")
@pytest.mark.usefixtures("keep")
@pytest.mark.parametrize("live", [True, False])
async def test_a_cell_without_a_name_has_no_last_turn(kernel: Kernel, live: bool) -> None:
    for _ in range(2):
        await kernel.run("change", RecordingCell(live, cell_id=None))
    assert kernel.prompts == ["change"] * 2


# -- keep -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("keep")
async def test_a_kept_answer_is_shown_as_it_was_below_a_line_and_nothing_is_sent(kernel: Kernel) -> None:
    first = await kernel.run("change")
    second, third = [await kernel.run("change") for _ in range(2)]
    assert outputs(second)[1:] == outputs(third)[1:] == outputs(first)
    assert (second.plain[0], third.plain[0], kernel.prompts) == (KEPT, KEPT, ["change"])
    assert "copilot_kernel" in outputs(second)[-1][1]


@pytest.mark.usefixtures("keep")
async def test_a_batch_run_that_keeps_gives_what_it_gave(kernel: Kernel) -> None:
    first, second = [await kernel.run("change", again(live=False)) for _ in range(2)]
    assert (outputs(first), first.sent, kernel.prompts) == (outputs(second), second.sent, ["change"])


@pytest.mark.usefixtures("keep")
async def test_a_kept_cell_ends_as_its_turn_did_but_for_a_stop(kernel: Kernel) -> None:
    for stop_reason in ("end_turn", "cancelled"):
        kernel.stop_reason = stop_reason
        turns = [await kernel.session.run(again(cell_id=stop_reason), "change") for _ in range(2)]  # type: ignore[arg-type]
        assert turns[1] is (turns[0] if stop_reason == "end_turn" else None)


@pytest.mark.usefixtures("keep")
async def test_a_turn_that_failed_after_it_changed_files_is_not_sent_again_and_has_no_answer(kernel: Kernel) -> None:
    kernel.fails = True
    with pytest.raises(CopilotError):
        await kernel.run("change")
    assert ((await kernel.run("change")).plain, kernel.prompts) == ([LOST], ["change"])


@pytest.mark.usefixtures("keep")
async def test_a_turn_that_failed_before_it_changed_anything_does_not_count(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await kernel.run("change")
    kernel.set("run")

    async def fail(*_: object) -> Turn:
        raise CopilotError("The agent does not start.")

    with monkeypatch.context() as patch:
        patch.setattr(kernel.session, "ask", fail)
        with pytest.raises(CopilotError):
            await kernel.run("change")
    kernel.set("keep")
    assert outputs(await kernel.run("change"))[1:] == outputs(first)


@pytest.mark.usefixtures("keep")
async def test_what_stands_above_a_kept_prompt_is_not_done(kernel: Kernel) -> None:
    code = "%attach\nchange"
    first, second = [await kernel.run(code, again(live=False)) for _ in range(2)]
    assert ("attached" in first.printed.lower(), "attached" in second.printed.lower()) == (True, False)
    assert kernel.prompts == ["change"]


@pytest.mark.usefixtures("keep")
async def test_prompts_of_one_execution_are_compared_in_their_order(kernel: Kernel) -> None:

    async def loop(request_id: str) -> list[RecordingCell]:
        cells = [again(live=False, request_id=request_id) for _ in range(3)]
        for cell in cells:
            cell.source = "for text in texts: %copilot {text}"
            await kernel.run("look" if cell is cells[1] else "change", cell)
        return cells

    first, second = await loop("1"), await loop("2")
    assert kernel.prompts == ["change", "look", "change", "look"]
    assert [outputs(cell) for cell in second[::2]] == [outputs(cell) for cell in first[::2]]


async def test_an_answer_that_no_setting_shows_again_is_not_kept(kernel: Kernel) -> None:
    await kernel.run("change")
    kernel.set("keep")
    assert (await kernel.run("change")).plain == [LOST]


# -- ask ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("click", "is_sent"), [("Run again", True), ("Keep the answer", False)])
async def test_a_button_says_whether_the_prompt_is_sent(
    kernel: Kernel, models: Models, click: str, is_sent: bool
) -> None:
    kernel.set("ask")
    first, cell = await kernel.run("change"), again()
    cell.widgets = True
    running = asyncio.create_task(kernel.run("change", cell))
    async with asyncio.timeout(LIMIT):
        while not models.buttons(click):
            await asyncio.sleep(0)
        models.click(models.buttons(click)[0])
        await running
    assert cell.plain[0] == f"ℹ {FILES}. Run it again? → {click}"
    assert len(kernel.prompts) == 1 + is_sent
    assert (outputs(cell)[-len(outputs(first)) :] == outputs(first)) is not is_sent
    assert (models.models, "widget-view" in str(outputs(cell))) == ({}, False)


@pytest.mark.parametrize(
    ("typed", "is_sent", "line"),
    [
        (["1"], True, "Run again"),
        (["perhaps"], False, "Keep the answer"),
        (["keep the answer"], False, "Keep the answer"),
        ([None], False, "Keep the answer (no answer was given)"),
    ],
)
async def test_the_answer_may_be_typed(kernel: Kernel, typed: list[str | None], is_sent: bool, line: str) -> None:
    kernel.set("ask")
    await kernel.run("change")
    cell = again()
    for each in typed:
        cell.typed.put_nowait(each)
    await asyncio.wait_for(kernel.run("change", cell), LIMIT)
    assert (len(kernel.prompts), cell.plain[0]) == (1 + is_sent, f"ℹ {FILES}. Run it again? → {line}")
    assert cell.prompts == ["1) Run again  2) Keep the answer: "] * len(typed)


async def test_where_nobody_can_answer_nothing_is_sent(kernel: Kernel) -> None:
    kernel.set("ask")
    first, second = [await kernel.run("change", again(live=False)) for _ in range(2)]
    assert second.plain[0].startswith("ℹ Not sent (rerun = ask, and no one can answer here). This prompt changed")
    assert (outputs(second)[1:], kernel.prompts) == (outputs(first), ["change"])


@pytest.fixture
def book(kernel: Kernel, keep: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "book.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    return path


def save(path: Path, cell: RecordingCell, source: str = "change") -> None:
    displays = [{"output_type": "display_data", "data": data, "metadata": metadata} for data, metadata in outputs(cell)]
    streams = [{"output_type": "stream", "name": "stderr", "text": ["Careful\n"]}]
    cells = [{"id": cell.cell_id, "cell_type": "code", "source": [source], "outputs": [*streams, *displays]}]
    path.write_text(json.dumps({"cells": cells}), "utf-8")


async def test_after_a_restart_the_saved_notebook_knows_the_last_turn(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await kernel.run("change")
    for _ in range(2):  # what is shown again can be saved, and shown again
        save(book, first)
        restarted = started(monkeypatch)
        kept = [await restarted.run("change", again(live)) for live in (True, False)]
        assert (kept[0].plain, kept[1].plain, restarted.prompts) == ([KEPT, *first.plain], first.plain, [])
        assert outputs(kept[1])[0] == outputs(first)[0]  # what the agent said
        assert outputs(kept[1])[-1][1] == outputs(first)[-1][1]  # the record
        first = kept[1]


class Page:
    """Tells that it calls the notebook `path` now, once it is asked."""

    def __init__(self, path: str) -> None:
        self._path, self.path, self.is_there = path, "", False

    async def known(self) -> bool:
        self.path, self.is_there = self._path, True
        return True

    def post(self, event: str, **more: Any) -> None:
        """Nobody sees it."""


class Pages:
    """All cells are in one page."""

    def __init__(self, path: str) -> None:
        self._page = Page(path)

    def of(self, cell: Any) -> Page:
        return self._page


@pytest.mark.parametrize("renamed", ["renamed.ipynb", "moved/book.ipynb"])
async def test_after_a_restart_a_notebook_that_was_renamed_knows_it_too(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch, renamed: str
) -> None:
    now = book.parent / renamed
    now.parent.mkdir(exist_ok=True)
    save(now, await kernel.run("change"))
    notebook = PageNotebook()
    notebook._pages = Pages(renamed)  # type: ignore[assignment]
    restarted = started(monkeypatch, notebook)
    kept = await restarted.run("change")
    assert (kept.plain[0], restarted.prompts) == (KEPT, [])


@pytest.mark.parametrize("answers", [True, False])
async def test_between_turns_a_page_is_asked_only_if_it_has_answered(answers: bool) -> None:
    notebook, cell = PageNotebook(), SimpleNamespace(live=True, cell_id="a", saved_id="a")
    notebook._pages = pages = Pages("book.ipynb")  # type: ignore[assignment]
    async with notebook.asked_by(cell):  # type: ignore[arg-type]
        if answers:
            await pages._page.known()
    assert notebook.turn.page is (pages._page if answers else None)


async def test_it_is_read_before_the_first_prompt_alone(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(book, await kernel.run("change"))
    restarted = started(monkeypatch)
    await restarted.run("look", again(cell_id="above"))
    save(book, again())  # it was saved while cells waited
    assert (await restarted.run("change")).plain[0] == KEPT


async def test_a_cell_with_another_source_has_no_last_turn(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(book, await kernel.run("change"), "change it")
    restarted = started(monkeypatch)
    await restarted.run("change")
    assert restarted.prompts == ["change"]


HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    "data",
    [
        {"text/plain": HOSTILE, "text/html": HOSTILE},
        {"text/plain": "**x**", "text/html": "<script>alert(1)</script>"},
        {"text/plain": HOSTILE, "text/html": "", "application/javascript": "alert(1)", "image/svg+xml": "<svg/>"},
        {"text/html": HOSTILE},
        {"text/plain": HOSTILE, "application/vnd.jupyter.widget-view+json": {"model_id": "x"}},
    ],
)
async def test_nothing_but_the_text_of_a_saved_output_counts(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch, data: Bundle
) -> None:
    cell = await kernel.run("change")
    cell.shown = {0: (data, {"isolated": True}), **cell.shown}
    save(book, cell)
    shown, metadata = outputs(await started(monkeypatch).run("change", again(live=False)))[0]
    assert (set(shown), metadata) == ({"text/plain", "text/html"}, {})
    assert not re.search("<(?!/?pre)", shown["text/html"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "changes", "x"]), inner),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fixed_dictionaries({"metadata": JSON, "data": JSON, "copilot_kernel": JSON}), max_size=3))
def test_no_saved_output_raises(given_outputs: list[Bundle]) -> None:
    saved = [
        {"output_type": "display_data", "data": each["data"], "metadata": {"copilot_kernel": each["copilot_kernel"]}}
        for each in given_outputs
    ]
    saved += [{"output_type": "display_data", **each} for each in given_outputs]
    for turn in rerun._saved_turns(saved):
        for data, _ in turn.outputs:
            assert set(render_saved(data)) == {"text/plain", "text/html"}
        assert all(isinstance(path, str) and path for path in turn.files)
