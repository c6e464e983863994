"""Messages that arrive while a cell runs, and the busy and idle that front ends count on."""

import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from copilot_kernel.jupyter.dispatch import ConcurrentKernel, changed_internals
from ipykernel.kernelbase import Kernel

from .conftest import StartKernel
from .front_end import FrontEnd, is_status, parent, states

WAITING = "demo: say Begun.\nwait"


@pytest.fixture
def running(front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cell that runs until the test's end; the front end sends nothing of its own."""
    monkeypatch.setattr(front_end, "has_extension", True)
    cell = front_end.execute(WAITING)
    front_end.shows("Begun.", cell)
    yield cell
    front_end.manager.interrupt_kernel()
    assert front_end.finish(cell).error[0] == "Cancelled"


@pytest.mark.parametrize(
    ("request_type", "content"),
    [
        ("kernel_info_request", {}),
        ("comm_info_request", {}),
        ("complete_request", {"code": "%h", "cursor_pos": 2}),
        ("inspect_request", {"code": "%help", "cursor_pos": 3, "detail_level": 0}),
        ("is_complete_request", {"code": "hello"}),
        ("history_request", {"hist_access_type": "tail", "output": False, "raw": True, "n": 1}),
    ],
)
def test_a_request_is_answered_while_a_cell_runs(
    front_end: FrontEnd, running: str, request_type: str, content: dict[str, Any]
) -> None:
    assert front_end.ask(request_type, content)["status"] in ("ok", "complete")
    assert running not in front_end.replies


def test_another_message_has_its_busy_and_idle_and_the_cell_is_busy_again(front_end: FrontEnd, running: str) -> None:
    other = front_end.send("comm_info_request")
    front_end.idle(other)
    again = len(front_end.published)
    front_end.see(lambda m: is_status(m, "busy") and parent(m) == running, start=again)

    assert states(front_end, running, other) == ["0 busy", "1 busy", "1 idle", "0 busy"]


def test_a_message_to_a_closed_widget_is_dropped_in_silence(front_end: FrontEnd) -> None:
    before = front_end.log.read_text()
    late = front_end.click("a-widget-that-was-closed")
    front_end.idle(late)

    assert (states(front_end, late), front_end.log.read_text()) == (["0 busy", "0 idle"], before)


def test_no_status_goes_astray_when_clicks_race_with_the_next_cell(front_end: FrontEnd) -> None:
    """Stock ipykernel 7.4.0 loses the next cell's idle in about every third of such rounds."""
    for _ in range(6):
        start = len(front_end.published)
        asking, queued = front_end.execute("demo: ask"), front_end.execute("%help")
        button = front_end.button("Allow once", since=start)
        clicks = [front_end.click(button) for _ in range(3)]
        for request in (asking, queued, *clicks):
            front_end.idle(request)

        assert [states(front_end, click) for click in clicks] == [["0 busy", "0 idle"]] * 3
        for cell in (asking, queued):  # busy again after each click, idle once and at the end
            *before, last = states(front_end, cell)
            assert (set(before), last) == ({"0 busy"}, "0 idle")
        assert front_end.reply(asking)["content"]["status"] == front_end.reply(queued)["content"]["status"] == "ok"


def test_subshells_and_debugger_are_not_offered(front_end: FrontEnd) -> None:
    assert front_end.ask("kernel_info_request")["supported_features"] == []
    assert front_end.control("create_subshell_request")["status"] == "error"


def test_the_internals_of_this_ipykernel_are_the_ones_we_know() -> None:
    assert changed_internals(Kernel) == ()


def test_a_change_of_the_internals_is_noticed() -> None:
    class Newer:
        async def shell_main(self, message: Any) -> None: ...

        execute_request, interrupt_request = Kernel.execute_request, Kernel.interrupt_request
        _publish_status = Kernel._publish_status

    assert changed_internals(Newer) == ("shell_main", "dispatch_shell")


def test_parents_that_are_kept_otherwise_are_noticed() -> None:
    class Newer(ConcurrentKernel):
        _shell_parent = property(lambda self: SimpleNamespace(set=repr), lambda self, value: None)

    kernel = Newer(log=logging.getLogger())
    assert (kernel.changed_internals, kernel.widgets_work) == (("_shell_parent",), False)


CHANGED = """
from ipykernel.kernelbase import Kernel
known = Kernel.shell_main
async def shell_main(self, shell, message):
    await known(self, shell, message)
Kernel.shell_main = shell_main
from copilot_kernel.__main__ import main
main()
"""


def test_with_changed_internals_a_question_is_asked_as_text(start_kernel: StartKernel) -> None:
    front_end = start_kernel(argv=(sys.executable, "-P", "-c", CHANGED, "-f", "{connection_file}"))
    cell = front_end.execute("demo: ask")
    question = front_end.type("1")
    outcome = front_end.finish(cell)

    assert "Allow once" in question["content"]["prompt"]
    assert outcome.status == "ok"
    assert "has changed shell_main" in outcome.text
    assert "has changed shell_main" in front_end.log.read_text()
