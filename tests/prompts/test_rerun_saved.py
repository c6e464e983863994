"""Running a cell again after a restart: its last turn is read from the saved notebook."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from copilot_kernel.pages.page_notebook import PageNotebook
from copilot_kernel.prompts import rerun
from copilot_kernel.rendering.rerun import render_saved
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import examples
from ..output.recording import Bundle, RecordingCell
from .rerunning import KEPT, SENT, Kernel, again, outputs, started


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


@pytest.mark.parametrize("has_digests", [True, False])
async def test_after_a_restart_a_prompt_that_is_sent_names_the_files_whose_digest_is_recorded(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch, has_digests: bool
) -> None:
    first = await kernel.run("change")
    record = outputs(first)[-1][1]["copilot_kernel"]
    for each in record["changes"]:
        assert re.fullmatch("[0-9a-f]{16}", each["digest"] if has_digests else each.pop("digest"))
    save(book, first)
    monkeypatch.setenv("COPILOT_KERNEL_RERUN", "run")
    sent = await started(monkeypatch).run("change")
    assert [text for text in sent.plain if "last time" in text] == [SENT] * has_digests


class Page:
    """Tells that it calls the notebook `path` now, once it is asked."""

    def __init__(self, path: str) -> None:
        self._path, self.path, self.is_there = path, "", False

    async def known(self) -> bool:
        self.path, self.is_there = self._path, True
        return True

    def post(self, event: str, **more: Any) -> None:
        """Nobody sees it."""


def in_page(page: Page) -> PageNotebook:
    """A notebook whose cells are all in this page."""
    notebook = PageNotebook()
    notebook.pages = SimpleNamespace(claim=AsyncMock(return_value=page), post=Mock())
    return notebook


@pytest.mark.parametrize("renamed", ["renamed.ipynb", "moved/book.ipynb"])
async def test_after_a_restart_a_notebook_that_was_renamed_knows_it_too(
    kernel: Kernel, book: Path, monkeypatch: pytest.MonkeyPatch, renamed: str
) -> None:
    now = book.parent / renamed
    now.parent.mkdir(exist_ok=True)
    save(now, await kernel.run("change"))
    restarted = started(monkeypatch, in_page(Page(renamed)))
    kept = await restarted.run("change")
    assert (kept.plain[0], restarted.prompts) == (KEPT, [])


@pytest.mark.parametrize("answers", [True, False])
async def test_between_turns_a_page_is_asked_only_if_it_has_answered(answers: bool) -> None:
    notebook = in_page(page := Page("book.ipynb"))
    async with notebook.asked_by(RecordingCell()):
        if answers:
            await page.known()
    assert notebook.reporter.page is (page if answers else None)


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


@settings(max_examples=examples(60), deadline=None)
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
        assert all(isinstance(text, str) for text in turn.files.values())
        assert all(isinstance(path, str) and path for path in turn.files)
