"""`%%copilot` in ipykernel's own kernel with a real agent: an answer, and an edit that a click allows meanwhile.

The agent also uses the notebook's tools, in a page that the test plays.
"""

import sys
from typing import Any

import pytest

from ..ipython.fake_page import FakePage
from .agents import Agent
from .book import LIMIT, Json, Notebook, opened
from .model import prompt
from .processes import running_here

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]

PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")


def _ask(book: Notebook, *steps: Json) -> str:
    """A cell with a prompt in it, whose braces are literal ones."""
    return book.front_end.execute("%%copilot\n" + prompt(*steps).replace("{", "{{").replace("}", "}}"))


def _stream(book: Notebook) -> Json:
    """What was shown while the answer had not ended, and that a click on ■ ends it."""
    cell = _ask(book, {"say": "This answer has no end, and so on.", "hang": True})
    book.front_end.shows("This answer has", cell)
    replied = cell in book.front_end.replies
    book.front_end.control("interrupt_request")
    return {**book.seen(book.front_end.finish(cell, LIMIT)), "replied": replied}


def _edit(book: Notebook) -> Json:
    since = len(book.front_end.published)
    change = book.agent.edit(book.notes, "two", "TWO")
    cell = _ask(book, {"call": [book.agent.read(book.notes)]}, {"call": [change]}, {"say": "Changed."})
    button = book.front_end.button(book.agent.allow, since)
    before, replied = book.notes.read_text(), cell in book.front_end.replies
    book.front_end.click(button)
    return {**book.seen(book.front_end.finish(cell, LIMIT)), "before": before, "replied": replied}


def _insert(book: Notebook) -> Json:
    """The agent inspects a variable, then inserts a cell and runs it; what was asked, and what the model learnt."""
    assert book.front_end.run("prices = [10, 12, 14]").status == "ok"
    since = len(book.front_end.published)
    page = FakePage(book.front_end, {"cell": "%%copilot"}, _seen=since)
    inspect = ("notebook-inspect_variable", {"name": "prices"})
    insert = ("notebook-insert_cell", {"source": "total = sum(prices)\ntotal", "run": True})
    cell = _ask(book, {"call": [inspect]}, {"call": [insert]}, {"say": "Added."})
    page.until(lambda message: _button(message) == book.agent.allow)
    book.front_end.click(book.front_end.button(book.agent.allow, since))
    page.play(cell)
    seen = book.seen(book.front_end.finish(cell, LIMIT))
    buttons = [_button(message) for message in book.front_end.published[since:]]
    return {
        **seen,
        "cells": list(page.cells.values()),
        "asked": buttons.count(book.agent.allow),
        "inspected": book.told("prices: list"),
        "ran": book.told("It ran as"),
        "came out": book.told("36"),
    }


def _button(message: Json) -> str:
    """What the button says that is opened, if one is."""
    state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
    return str(state.get("description", "")) if state.get("_model_name") == "ButtonModel" else ""


def play(agent: Agent) -> Json:
    findings: dict[str, Any] = {}
    with opened(agent, PYTHON) as book:
        assert book.front_end.run("%load_ext copilot_kernel").status == "ok"
        findings["insert"] = _insert(book)
        cell = _ask(book, {"say": "There are **three lines**."})
        findings["text"] = book.seen(book.front_end.finish(cell, LIMIT))
        findings["edit"] = _edit(book)
        shown = book.front_end.run("[len(_copilot.diffs), _copilot.text]").outputs[0]["content"]["data"]
        findings["value"] = shown["text/plain"]
        cell = _ask(book, {"say": "I look.", "call": [book.agent.read(book.notes)]}, {"refuse": 402})
        findings["refused"] = book.seen(book.front_end.finish(cell, LIMIT))
        findings["stream"] = _stream(book)
        book.front_end.manager.shutdown_kernel()
        findings["programs after"] = sorted(process.name for process in running_here())
    return findings


# -- tests ----------------------------------------------------------------------------------------------------


def test_an_answer_is_in_the_cell(magic_cells: Json) -> None:
    seen = magic_cells["text"]
    assert (seen["status"], "There are **three lines**." in seen["text"]) == ("ok", True)


def test_an_edit_waits_for_a_click_while_the_cell_runs(magic_cells: Json) -> None:
    seen = magic_cells["edit"]
    assert (seen["replied"], seen["before"]) == (False, "one\ntwo\nthree\n")
    assert (seen["status"], seen["notes"]) == ("ok", "one\nTWO\nthree\n")
    assert "Changed." in seen["text"]
    assert magic_cells["value"] == "[1, 'Changed.']"


def test_a_cell_is_inserted_and_run_after_one_question(magic_cells: Json) -> None:
    seen = magic_cells["insert"]
    assert (seen["status"], seen["asked"]) == ("ok", 1)
    assert seen["cells"] == ["%%copilot", "total = sum(prices)\ntotal"]
    assert (seen["inspected"], seen["ran"], seen["came out"]) == (True, True, True)
    assert "Added." in seen["text"]
    assert "Changed or run: cell 2" in seen["text"]


def test_an_answer_streams_and_an_interrupt_ends_it(magic_cells: Json) -> None:
    seen = magic_cells["stream"]
    assert (seen["replied"], seen["status"], seen["error"]) == (False, "error", "Cancelled")
    assert "This answer has" in seen["text"]


def test_a_model_that_refuses_fails_the_cell(magic_cells: Json) -> None:
    """Copilot CLI sends the failure as text and ends the turn as if it had answered."""
    seen = magic_cells["refused"]
    assert (seen["status"], seen["error"]) == ("error", "ModelFailed")
    assert (seen["text"].count("refused by the script"), "I look." in seen["text"]) == (1, True)


def test_nothing_is_left_running_when_the_kernel_has_ended(magic_cells: Json) -> None:
    """Two Pythons stay: the first process of the namespace, and the one that looks."""
    assert [name[:6] for name in magic_cells["programs after"]] == ["python", "python"]
