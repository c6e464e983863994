"""`%%copilot` in ipykernel's own kernel with a real agent: an answer, and an edit that a click allows meanwhile.

The agent also uses the notebook's tools, in a page that the test plays.
"""

import pytest
from copilot_kernel.notebook.sources import source_hash

from ..ipython.fake_page import FakePage
from . import model
from .agents import COPILOT, FILE, NOTES, Agent
from .book import PYTHON, Json, Notebook, opened, running_here
from .conftest import played

pytestmark = [pytest.mark.real_agent, played("test_magic.play", COPILOT)]
READ: Json = {"call": [("read", FILE)]}


def play(agent: Agent) -> Json:
    with model.running() as scripted, opened(agent, scripted, argv=PYTHON) as book:
        assert book.front_end.run("%load_ext copilot_kernel").status == "ok"
        page = FakePage(book.front_end, {"cell": "%%copilot"}, _seen=len(book.front_end.published))
        found = {
            "insert": _insert(book, page),
            "pieces": _pieces(book, page),
            "chart": _chart(book),
            "text": book.ask({"say": "There are **three lines**."}),
            "edit": book.ask(READ, {"call": [("edit", FILE, "two", "TWO")]}, {"say": "Changed."}, click=agent.allow),
            "value": book.front_end.run("[len(_copilot.diffs), _copilot.text]").outputs[0]["content"]["data"],
            "slash": book.end(book.front_end.execute("row = '/allow-all on'\n%copilot $row")),
            "denied": _typed(book, "/allow-all on", "Don't send"),
            "moved": book.end(book.front_end.execute("%copilot /cwd /")),
            "asked": book.ask({"call": [("shell", "true")]}, {"say": "Tried."}, click=agent.allow),
            "allowed": _typed(book, "/allow-all on", "Send it"),
            "unasked": book.ask({"call": [("shell", "true")]}, {"say": "Ran."}),
            "refused": book.ask({"say": "I look.", **READ}, {"refuse": 402}),
            "stream": book.ask({"say": "This answer has no end, and so on.", "hang": True}, stop_at="This answer has"),
        }
        book.front_end.manager.shutdown_kernel()
        return {**found, "programs after": running_here()}


def _typed(book: Notebook, command: str, click: str) -> Json:
    since = len(book.front_end.published)
    cell = book.front_end.execute(f"%%copilot\n{command}")
    book.front_end.click(book.front_end.button(click, since))
    return book.end(cell)


def _insert(book: Notebook, page: FakePage) -> Json:
    """The agent inspects a variable, then inserts a cell and runs it; what was asked, and what the model learnt."""
    assert book.front_end.run("prices = [10, 12, 14]").status == "ok"
    since = len(book.front_end.published)
    inspect = ("notebook-inspect_variable", {"name": "prices"})
    insert = ("notebook-insert_cell", {"source": "total = sum(prices)\ntotal", "run": True})
    cell = book.begin({"call": [inspect]}, {"call": [insert]}, {"say": "Added."})
    page.until(lambda message: _button(message) == book.agent.allow)
    book.front_end.click(book.front_end.button(book.agent.allow, since))
    page.play(cell)
    buttons = [_button(message) for message in book.front_end.published[since:]]
    return {
        **book.end(cell),
        "cells": list(page.cells.values()),
        "asked": buttons.count(book.agent.allow),
        "learnt": [book.told(words) for words in ("prices: list", "It ran as", "36")],
    }


LONG = "".join(f"price_{number} = {number}\n" for number in range(3_000))


def _pieces(book: Notebook, page: FakePage) -> Json:
    """The agent changes a name in a long cell by its hash; what was asked, and what the model learnt."""
    since = len(book.front_end.published)
    page.cells["long"] = LONG
    edits = [{"old": "price_2500 ", "new": "total "}]
    edit = ("notebook-edit_cell", {"id": "long", "expected": source_hash(LONG), "edits": edits})
    cell = book.begin({"call": [("notebook-read_notebook", {})]}, {"call": [edit]}, {"say": "Renamed."})
    page.until(lambda message: _button(message) == book.agent.allow)
    book.front_end.click(book.front_end.button(book.agent.allow, since))
    page.play(cell)
    buttons = [_button(message) for message in book.front_end.published[since:]]
    learnt = [book.told(words) for words in (source_hash(LONG), "Edited the cell long.")]
    return {**book.end(cell), "long": page.cells["long"], "asked": buttons.count(book.agent.allow), "learnt": learnt}


CHART = {"text/plain": "alt.Chart(...)", "application/vnd.vegalite.v6.json": {"mark": "bar", "title": "Rain"}}


def _chart(book: Notebook) -> Json:
    """The agent shows a chart and prints very much; what the model learnt of both."""
    code = f"print('line\\n' * 2_000_000)\nfrom IPython.display import display\ndisplay({CHART}, raw=True)"
    call = ("notebook-run_python", {"code": code})
    ended = book.ask({"call": [call]}, {"say": "Drawn."}, click=book.agent.allow)
    return {**ended, "learnt": [book.told(words) for words in ("characters left out", "Rain", "mark")]}


def _button(message: Json) -> str:
    """What the button says that is opened, if one is."""
    state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
    return str(state.get("description", "")) if state.get("_model_name") == "ButtonModel" else ""


# -- tests ----------------------------------------------------------------------------------------------------


def test_an_answer_is_in_the_cell(seen: Json) -> None:
    text = seen["text"]
    assert (text["status"], "There are **three lines**." in text["text"]) == ("ok", True)


def test_a_value_allows_nothing_though_it_is_a_command_of_the_agent(seen: Json) -> None:
    assert (seen["slash"]["status"], model.OVER in seen["slash"]["text"]) == ("ok", True)
    assert seen["asked"]["status"] == "ok"


def test_a_command_that_ends_questions_is_the_users_to_allow_and_is_shown_from_then_on(seen: Json) -> None:
    assert [seen[name]["error"] for name in ("denied", "moved", "asked", "allowed")] == ["UsageError"] * 2 + [None] * 2
    assert "COPILOT_KERNEL_CWD" in seen["moved"]["text"]
    assert "does not ask" not in seen["asked"]["text"]
    assert "⚠ does not ask: " in seen["allowed"]["text"]
    assert "⚠ does not ask: allow_all on" in seen["unasked"]["text"]


def test_an_edit_waits_for_a_click_while_the_cell_runs(seen: Json) -> None:
    edit = seen["edit"]
    assert (edit["status"], edit["before"], edit["notes"]) == ("ok", NOTES, NOTES.replace("two", "TWO"))
    assert "Changed." in edit["text"]
    assert seen["value"]["text/plain"] == "[1, 'Changed.']"


def test_a_cell_is_inserted_and_run_after_one_question(seen: Json) -> None:
    insert = seen["insert"]
    assert (insert["status"], insert["asked"]) == ("ok", 1)
    assert insert["cells"] == ["%%copilot", "total = sum(prices)\ntotal"]
    assert insert["learnt"] == [True, True, True]
    assert "Added." in insert["text"]
    assert "Inserted and ran cell 2" in insert["text"]


def test_a_part_of_a_long_cell_is_edited_after_one_question(seen: Json) -> None:
    pieces = seen["pieces"]
    assert (pieces["status"], pieces["asked"], pieces["learnt"]) == ("ok", 1, [True, True])
    assert pieces["long"] == LONG.replace("price_2500 ", "total ")


def test_a_chart_is_read_as_what_it_draws_also_after_very_much_output(seen: Json) -> None:
    chart = seen["chart"]
    assert (chart["status"], chart["learnt"]) == ("ok", [True, True, True])


def test_an_answer_streams_and_an_interrupt_ends_it(seen: Json) -> None:
    stream = seen["stream"]
    assert (stream["status"], stream["error"]) == ("error", "Cancelled")
    assert "This answer has" in stream["text"]


def test_a_model_that_refuses_fails_the_cell(seen: Json) -> None:
    """Copilot CLI sends the failure as text and ends the turn as if it had answered."""
    refused = seen["refused"]
    assert (refused["status"], refused["error"]) == ("error", "ModelFailed")
    assert (refused["text"].count("refused by the script"), "I look." in refused["text"]) == (1, True)


def test_nothing_is_left_running_when_the_kernel_has_ended(seen: Json) -> None:
    """Two Pythons stay: the first process of the namespace, and the one that looks."""
    assert [name[:6] for name in seen["programs after"]] == ["python", "python"]
