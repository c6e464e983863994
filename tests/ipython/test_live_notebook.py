"""The live notebook of a Python notebook, with a page that shows it and without one."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.pages.page import GONE
from copilot_kernel.pages.page_comm import TARGET

from ..jupyter.front_end import FrontEnd, is_status, parent
from ..limits import LIMIT
from .conftest import StartKernel
from .fake_page import FakePage, subshell
from .playing import BLOCKED, begin, play, prepare, value


@pytest.fixture(scope="module")
def shared(agent: FrontEnd) -> FakePage:
    return FakePage(agent, {}, subshell(agent))


@pytest.fixture
def page(shared: FakePage) -> FakePage:
    """One page with one comm, as a user's is; the notebook is another in each test."""
    shared.cells = {"cell": "%%copilot", "a": "x = 1", "b": "print(x)"}
    shared.calls.clear()
    shared.sent.clear()
    shared.events.clear()
    shared.runs.clear()
    shared.on_run = lambda: None
    shared.answers, shared.chooses = {}, ""
    return shared


def played(page: FakePage, body: str) -> Any:
    """Let the agent do `body`; the cell's outcome."""
    request = begin(page.front_end, body)
    page.play(request)
    return page.front_end.finish(request)


def error(page: FakePage, body: str) -> tuple[str, str]:
    """The name and the message of the error that `body` ends with."""
    played(page, body)
    found: tuple[str, str] = value(page.front_end, "type(played).__name__, str(played)")
    return found


def asking(page: FakePage) -> str:
    """The request of the last cell in which the agent worked."""
    ended = (m for m in reversed(page.front_end.published) if m["content"].get("comm_id") == page.comm)
    return parent(next(ended))


def after_idle(page: FakePage, request: str) -> tuple[str, str]:
    """The request and the state of the status that follows the last idle of `request`."""
    found = [m for m in page.front_end.published if m["msg_type"] == "status"]
    states = [(parent(m), str(m["content"]["execution_state"])) for m in found]
    last = max(number for number, state in enumerate(states) if state == (request, "idle"))
    return states[last + 1]


# -- cells through the page -----------------------------------------------------------------------------------------


def test_the_cells_are_read_from_the_page(page: FakePage) -> None:
    played(page, "return await notebook.read(None, outputs=False), await notebook.read(['b'], outputs=True)")
    assert value(page.front_end, "[cell.source for cell in played[0].cells]") == ["%%copilot", "x = 1", "print(x)"]
    assert value(page.front_end, "(played[0].path, played[0].asking, played[0].saved)") == (
        "a/book.ipynb",
        "cell",
        False,
    )
    assert value(page.front_end, "[cell.id for cell in played[1].cells]") == ["b"]
    assert [call["args"]["limit"] for call in page.calls] == [4000, 1_000_000]


def test_cells_are_inserted_below_the_last_one_and_edited_and_deleted(page: FakePage) -> None:
    body = (
        "one = await notebook.insert('# One', 'markdown', None)\ntwo = await notebook.insert('2', 'code', None)\n"
        "await notebook.edit('a', 'x = 1', 'x = 3')\nawait notebook.delete(one, '# One')\n"
        "await notebook.move('b', 'print(x)', None)\nawait notebook.clear_outputs(['a'])\nreturn one, two"
    )
    outcome = played(page, body)
    assert "\nEdited and cleared the output of cell 2 · moved cell 3 · inserted cell 4\n" in outcome.text
    assert page.cells == {"cell": "%%copilot", "a": "x = 3", "b": "print(x)", "new4": "2"}
    assert [call["args"]["after"] for call in page.calls if call["op"] in ("insert", "move")] == ["cell", "new3", None]
    assert value(page.front_end, "player.touched") == ("new4", "a", "b")
    assert page.events[-1]["cells"] == ["new4", "a", "b"]
    deleted = played(page, "await notebook.delete('b', 'print(x)')\nawait notebook.delete('new4', '2')")
    assert "\nDeleted cell 3 (print(x)) · deleted cell 3 (2)\n" in deleted.text


def test_what_was_changed_meanwhile_is_refused(page: FakePage) -> None:
    assert error(page, "await notebook.edit('a', 'x = 0', 'x = 5')") == ("ChangedMeanwhile", "Changed.")
    assert error(page, "await notebook.delete('gone', '')") == ("NotebookError", "No cell gone.")
    assert page.cells["a"] == "x = 1"


def test_one_comm_is_kept_and_tells_of_the_turn(page: FakePage) -> None:
    played(page, "pass")
    comm = page.comm
    start = len(page.front_end.published)
    played(page, "pass")
    ours = [m for m in page.front_end.published[start:] if m["content"].get("comm_id") == comm]
    assert (page.comm, {m["msg_type"] for m in ours}) == (comm, {"comm_msg"})
    turns = [event for event in page.events if event["event"] == "turn"]
    assert [event["state"] for event in turns] == ["working", "idle"] * 2
    assert {event["agent"] for event in turns[1:]} == {"demo agent"}
    assert {m["parent_header"]["msg_id"] for m in ours} == {parent(ours[-1])}


# -- runs of cells --------------------------------------------------------------------------------------------------


def test_a_cell_runs_as_the_pages_own_request(page: FakePage) -> None:
    page.front_end.run("x = 20")
    outcome = played(page, "return await notebook.run_cell('b', 'print(x)')")
    (run,) = page.runs
    kinds = [m["msg_type"] for m in page.front_end.published if parent(m) == run and m["metadata"] != {}]
    assert value(page.front_end, "played.outputs[0]['text'], played.ok") == ("20\n", True)
    ran = next(event for event in page.events if event["event"] == "ran")
    assert ran == {"event": "ran", "id": "b", "execution_count": value(page.front_end, "played.execution_count")}
    messages = [m for m in page.front_end.published if parent(m) == run]
    states = [m["content"]["execution_state"] for m in messages if m["msg_type"] == "status"]
    assert sorted(states) == ["busy", "busy", "idle", "idle"]  # of the subshell, and of the run
    assert [m["content"]["code"] for m in messages if m["msg_type"] == "execute_input"] == ["print(x)"]
    assert [m["content"]["text"] for m in messages if m["msg_type"] == "stream"] == ["20\n"]
    assert is_status(messages[-1], "idle")
    assert after_idle(page, run) == (asking(page), "busy")
    assert kinds == ["status"]
    assert "20" not in outcome.text


BUTTON = """
import ipywidgets, threading
clicks = []
button = ipywidgets.Button()
button.on_click(lambda button: clicks.append(threading.current_thread().name))
"""


def test_widgets_of_a_run_are_answered_on_the_main_thread(page: FakePage) -> None:
    """The page may end the subshell in which its request to run arrived."""
    page.cells["b"] = BUTTON
    played(page, f"await notebook.run_cell('b', {BUTTON!r})")
    agent, model = page.front_end, value(page.front_end, "button.model_id")
    (opened,) = [m for m in agent.published if m["msg_type"] == "comm_open" and m["content"]["comm_id"] == model]
    assert opened["parent_header"]["subshell_id"] is None
    agent.idle(agent.press(model))
    assert value(agent, "clicks") == ["MainThread"]


def test_what_runs_is_what_was_expected(page: FakePage) -> None:
    def change() -> None:
        page.cells["b"] = "x = 'changed'"

    page.on_run = change
    assert error(page, "await notebook.run_cell('b', 'print(x)')")[0] == "ChangedMeanwhile"
    ran = [event for event in page.events if event["event"] == "ran"]
    assert ran == [{"event": "ran", "id": "b", "execution_count": None}]
    assert value(page.front_end, "x") != "changed"


def test_a_request_to_run_that_nobody_waits_for_is_ignored(page: FakePage) -> None:
    forged = [{"run": "forged", "id": "a", "code": "x = 'forged'"}, {"replies": [{"call": 1, "result": {}}, 3]}]
    forged += [{"answer": "1", "option": "allow"}, {"run": 1}, {"hello": 1}, {"replies": 2}]
    for data in forged:
        page.send(data)
    played(page, "await notebook.read(None, outputs=False)")
    assert value(page.front_end, "x") != "forged"


def test_the_cells_are_read_while_code_blocks_the_kernel(page: FakePage) -> None:
    body = (
        f"{BLOCKED}await notebook.read(None, outputs=False)\nbusy = not task.done()\n"
        "released.set()\nawait task\nreturn busy"
    )
    start = len(page.front_end.published)
    played(page, body)
    replies = [parent(m) for m in page.front_end.published[start:] if m["parent_header"].get("msg_type") == "comm_msg"]
    assert after_idle(page, replies[-1]) == (asking(page), "busy")
    assert value(page.front_end, "played") is True


def test_an_interrupt_ends_a_run_of_a_cell_and_its_waiting(page: FakePage) -> None:
    page.cells["b"] = "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.1)"
    request = begin(page.front_end, f"await notebook.run_cell('b', {page.cells['b']!r})")
    page.until(lambda m: m["msg_type"] == "stream" and "begun" in m["content"]["text"])
    page.front_end.process.send_signal(signal.SIGINT)
    page.play(request)
    assert page.front_end.finish(request).error[0] == "Cancelled"
    assert [event for event in page.events if event["event"] == "ran"] != []


def test_a_question_is_asked_in_the_page(page: FakePage) -> None:
    page.answers = {"1": [{"option": 0, "rule": " bad "}, {"option": 1, "reason": " No. ", "keep": "everywhere"}]}
    played(page, ASK % 1)
    assert value(page.front_end, "played") == (1, "No.", "", "session")
    asked = [event for event in page.events if event["event"] not in ("turn", "questions")]
    assert [event["event"] for event in asked] == ["ask", "refused", "answered"]
    assert asked[1]["words"] == "bad is refused"


ASK = """
import asyncio
from dataclasses import astuple
from types import SimpleNamespace
answered = asyncio.get_running_loop().create_future()
def reply(answer):
    if answer.rule:
        return f"{answer.rule} is refused"
    answered.set_result(answer)
    return ""
answers = SimpleNamespace(options={0, 1})
question = SimpleNamespace(key="%s", for_page={"title": "Run?"}, reply=reply, answers=answers)
asking = asyncio.create_task(notebook.reporter.page.ask(question))
try:
    return astuple(await answered)
finally:
    asking.cancel()
"""


def test_what_the_page_has_sent_once_does_nothing_again(page: FakePage) -> None:
    page.front_end.run("runs = []")
    page.cells["b"] = "runs.append('b')"
    page.answers = {"1": [{"option": 0}]}
    played(page, f"await notebook.run_cell('b', {page.cells['b']!r}){ASK % 1}")
    before = [*page.sent]
    assert {key for data in before for key in data} >= {"replies", "run", "answer"}
    request = begin(page.front_end, ASK % 2)
    page.until(lambda m: m["content"].get("data", {}).get("event") == "ask")
    for data in (*before, {"answer": "2", "option": 1}):
        page.send(data)
    page.play(request)
    page.front_end.finish(request)
    assert value(page.front_end, "played, runs") == ((1, "", "", "session"), ["b"])


# -- without a page -------------------------------------------------------------------------------------------------

BOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# A\n", "b"], "metadata": {}},
        {
            "cell_type": "code",
            "id": "two",
            "source": "1",
            "execution_count": 4,
            "metadata": {},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]}],
        },
    ]
}
READ = "return await notebook.read(None, outputs=True)"


@pytest.mark.parametrize("where", ["JPY_SESSION_NAME", "__vsc_ipynb_file__"])
def test_without_a_page_the_saved_cells_are_read_and_none_is_changed(
    start_kernel: StartKernel, tmp_path: Path, where: str
) -> None:
    book = tmp_path / "book.ipynb"
    book.write_text(json.dumps(BOOK))
    agent = prepare(start_kernel(**{where: str(book)}))
    if where.startswith("__"):
        agent.run(f"{where} = {str(book)!r}")
    agent.finish(begin(agent, READ, live=False))
    assert value(agent, "[(c.id, c.type, c.source) for c in played.cells], played.saved, played.path") == (
        [("cell-0", "markdown", "# A\nb"), ("two", "code", "1")],
        True,
        str(book),
    )
    assert value(agent, "played.cells[1].outputs[0]['text']") == "a\nb"
    for change in ("await notebook.edit('two', '1', '2')", "await notebook.restart_kernel()"):
        shown = agent.finish(begin(agent, change, live=False)).text
        assert value(agent, "type(played).__name__") == "NoPage", shown
    assert "Ask the user" in value(agent, "str(played)")
    assert not [m for m in agent.published if m["content"].get("target_name") == TARGET]
    run = "return (await notebook.run_python('6 * 7')).outputs[0]['data']['text/plain']"
    shown = agent.finish(begin(agent, run, live=False)).text
    assert value(agent, "repr(played)") == "'42'", shown


def test_a_page_that_says_nothing_or_refuses_is_no_page(start_kernel: StartKernel) -> None:
    agent = prepare(start_kernel())
    agent.run("from copilot_kernel.pages import page\npage.HELLO_SECONDS = 0.2")
    agent.has_extension = True  # which says nothing
    play(agent, "await notebook.insert('x', 'code', None)")
    assert value(agent, "type(played).__name__") == "NoPage"
    agent.run(f"page.HELLO_SECONDS = {LIMIT}")
    agent.has_extension = False
    request = begin(agent, "await notebook.insert('x', 'code', None)")
    agent.see(lambda m: m["content"].get("target_name") == TARGET and parent(m) == request)
    agent.finish(request)
    assert value(agent, "type(played).__name__") == "NoPage"


def test_a_page_tells_where_the_notebook_is_after_a_rename(start_kernel: StartKernel, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    book, renamed, beside = (tmp_path / "a" / name for name in ("book.ipynb", "renamed.ipynb", "beside.txt"))
    book.write_text("{}")
    agent = prepare(start_kernel(JPY_SESSION_NAME=str(book)))
    agent.run(f"from copilot_kernel.pages import page\npage.HELLO_SECONDS = page.CALL_SECONDS = {LIMIT}")
    page = FakePage(agent, {"cell": ""})
    played(page, "return notebook.paths, tuple(await notebook.open_documents())")
    assert value(agent, "played") == ((str(book),), ((str(book),), (str(beside),)))
    book.rename(renamed)
    page.send({"path": "a/renamed.ipynb"})
    played(page, "return notebook.paths, tuple(await notebook.open_documents())")
    assert value(agent, "played") == ((str(renamed),), ((str(renamed),), (str(beside),)))
    renamed.unlink()
    played(page, "return tuple(await notebook.open_documents())")
    assert value(agent, "played") == ((), ())


def test_a_page_that_goes_is_reported_and_the_next_one_is_found(start_kernel: StartKernel) -> None:
    agent = prepare(start_kernel())
    agent.run("from copilot_kernel.pages import page\npage.CALL_SECONDS = 0.3")
    gone = FakePage(agent, {"cell": ""})
    request = begin(agent, "await notebook.read(None, outputs=False)")
    opened = agent.see(lambda m: m["content"].get("target_name") == TARGET)
    gone.comm = opened["content"]["comm_id"]
    gone.send({"hello": 1, "session": agent.client.session.session, "path": ""})
    agent.finish(request)
    assert value(agent, "type(played).__name__, str(played)") == (
        "NoPage",
        GONE,
    )
    agent.run(f"page.CALL_SECONDS = {LIMIT}")
    page = FakePage(agent, {"cell": ""}, _seen=len(agent.published))
    played(page, "await notebook.insert('x', 'code', None)")
    assert page.comm != gone.comm
    assert "x" in page.cells.values()
