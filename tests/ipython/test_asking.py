"""Questions in a Python notebook: buttons and inputs that work while the cell runs, or a line of input."""

from typing import Any

import pytest

from ..jupyter.asked import WIDGET_VIEW, Picked, closed, opened
from ..jupyter.front_end import LIMIT, FrontEnd, connected, is_status, parent, states
from .conftest import StartKernel

OWN_WIDGETS = """
import ipywidgets
seen = []
slider = ipywidgets.IntSlider()
slider.observe(lambda change: seen.append(change.new), 'value')
button = ipywidgets.Button()
button.on_click(lambda button: seen.append('click'))
slider.model_id, button.model_id
"""


def test_a_message_of_a_widget_has_its_busy_and_idle_and_the_cell_is_busy_again(notebook: FrontEnd) -> None:
    """Without the idle a front end would never send a second change of an input."""
    asked = Picked(notebook, "%%copilot\ndemo: elicit form")
    for length in range(1, 4):
        sent = asked.enter("Name", value="Ada"[:length])
        notebook.idle(sent)
        again = notebook.published.index(notebook.idle(sent))
        notebook.see(lambda m: is_status(m, "busy") and parent(m) == asked.cell, start=again)
        assert states(notebook, sent) == ["0 busy", "0 idle"]
    assert "declined" in asked.press("Decline").text.lower()
    assert states(notebook, asked.cell)[-1] == "0 idle"
    last = notebook.execute("1")
    notebook.finish(last)
    assert states(notebook, last) == ["0 busy", "0 idle"]


@pytest.mark.parametrize("queued", ["%copilot %help", "import asyncio; await asyncio.sleep(0.02)"])
def test_no_idle_goes_astray_when_clicks_race_with_the_next_cell(notebook: FrontEnd, queued: str) -> None:
    """Stock ipykernel 7.4.0 loses the next cell's idle in about every second of such rounds."""
    made = notebook.run("import ipywidgets\nmine = ipywidgets.Button()\nmine.model_id")
    mine = made.outputs[-1]["content"]["data"]["text/plain"].strip("'")
    for _ in range(10):
        cells = notebook.execute("%copilot %help"), notebook.execute(queued)
        clicks = [notebook.click(mine) for _ in range(30)]
        for cell in cells:
            notebook.idle(cell)
            assert notebook.reply(cell)["content"]["status"] == "ok"
            assert states(notebook, cell)[-1] == "0 idle"
        last = notebook.execute("1")
        notebook.idle(last)
        assert len(clicks) == 30


def test_the_users_own_widgets_work_before_during_and_after(notebook: FrontEnd) -> None:
    outcome = notebook.run(OWN_WIDGETS)
    slider, button = eval(
        next(m for m in outcome.outputs if m["msg_type"] == "execute_result")["content"]["data"]["text/plain"]
    )

    def use(number: int) -> None:
        notebook.idle(notebook.comm(slider, {"method": "update", "state": {"value": number}, "buffer_paths": []}))
        notebook.idle(notebook.click(button))

    use(1)
    cell = notebook.execute("%%copilot\ndemo: say Begun.\nwait")
    notebook.shows("Begun.", cell)
    use(2)
    use(3)
    notebook.control("interrupt_request")
    notebook.finish(cell)
    use(4)
    shown = notebook.run("seen").outputs[0]["content"]["data"]["text/plain"]
    assert shown == "[1, 'click', 2, 'click', 3, 'click', 4, 'click']"


@pytest.mark.parametrize(
    ("code", "cell_id"),
    [("def f():\n    %copilot demo: ask Something\nf()", "cell"), ("%copilot demo: ask Something", None)],
    ids=["in a function", "in a console"],
)
def test_where_no_click_can_arrive_the_question_is_a_line_of_input(
    notebook: FrontEnd, code: str, cell_id: str | None
) -> None:
    cell = notebook.execute(code, cell_id=cell_id)
    request = notebook.type("1")
    assert (request["content"]["prompt"].startswith("1) Allow once"), parent(request)) == (True, cell)
    assert "allowed by you" in notebook.finish(cell).text


def test_input_of_the_users_own_works_after_that(notebook: FrontEnd) -> None:
    cell = notebook.execute("input('Name? ')")
    notebook.type("Ada")
    assert "Ada" in str(notebook.finish(cell).outputs)


REFUSED_AT_ONCE = f"""
import ipywidgets, threading, time
from comm import get_comm_manager

class Refused(ipywidgets.Layout):
    def __init__(self):
        super().__init__()
        end = time.monotonic() + {LIMIT}
        while self.comm.comm_id in get_comm_manager().comms and time.monotonic() < end:
            threading.Event().wait(0.01)

ipywidgets.Layout = Refused
"""


@pytest.mark.parametrize("before", ["", REFUSED_AT_ONCE], ids=["after a while", "before anything listens"])
def test_a_front_end_that_refuses_widgets_is_asked_in_words(start_kernel: StartKernel, before: str) -> None:
    """JupyterLab without the extension for widgets closes every comm that is opened."""
    front_end = start_kernel()
    patience = f"import copilot_kernel.ipython.front_end as module; module.PROBE_SECONDS = {LIMIT}\n"
    assert front_end.run(patience + before).status == "ok"
    cell = front_end.execute("%copilot demo: ask Something")
    opened = front_end.see(lambda m: m["content"].get("target_name") == "jupyter.widget")["content"]["comm_id"]
    front_end.send("comm_close", {"comm_id": opened, "data": {}})
    front_end.type("1")
    assert "allowed by you" in front_end.finish(cell).text


def refuse(front_end: FrontEnd, page: FrontEnd) -> None:
    """The other page closes all comms that were opened so far."""
    for message in front_end.published:
        if message["msg_type"] == "comm_open":
            page.idle(page.send("comm_close", {"comm_id": message["content"]["comm_id"], "data": {}}))


def test_because_of_a_page_without_widgets_nobody_is_asked_in_words(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    with connected(front_end.manager, front_end.log) as page:
        cell = front_end.execute("%copilot demo: ask Something")
        front_end.see(lambda m: m["msg_type"] == "comm_open")
        refuse(front_end, page)
        front_end.see(lambda m: parent(m) == cell and WIDGET_VIEW in str(m["content"]))
        front_end.click(front_end.button("Allow once"))
        assert "allowed by you" in front_end.finish(cell).text
        assert not front_end.client.stdin_channel.msg_ready()


def test_where_nobody_answers_no_widget_is_made(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    front_end.run("%copilot demo: ask", live=False)
    assert not [m for m in front_end.published if m["msg_type"] == "comm_open"]
    loaded: Any = front_end.run("import sys; 'ipywidgets' in sys.modules").outputs[0]["content"]["data"]["text/plain"]
    assert loaded == "False"


def test_a_picker_applies_what_is_chosen_when_its_cell_has_ended(notebook: FrontEnd) -> None:
    notebook.run("%copilot %mode agent")
    asked = Picked(notebook, "%copilot %mode")
    assert notebook.finish(asked.cell).status == "ok"
    asked.enter("Mode", index=1)
    notebook.shows("Mode: Plan", asked.cell)
    assert "Plan: thinks first" in notebook.run("%copilot %status").text
    notebook.run("%copilot %mode agent")
    notebook.see(lambda _: opened(notebook, asked.cell) == closed(notebook, asked.cell))
