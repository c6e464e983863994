"""Cells that a server runs for a page: the request names no cell, and allows no input."""

from pathlib import Path

from copilot_kernel.pages.page_comm import TARGET

from ..ipython.fake_page import FakePage
from .conftest import StartKernel
from .front_end import FrontEnd

ASK = "demo: ask"


def begin(front_end: FrontEnd) -> str:
    """Run the cell, and wait until the kernel says that pages can connect."""
    front_end.has_extension = True
    request = front_end.execute(ASK, live=False, cell_id=None)
    front_end.see(lambda message: message["content"].get("target_name") == TARGET)
    return request


def test_the_page_that_has_run_the_cell_is_asked_and_its_output_is_sent_once(
    start_kernel: StartKernel, tmp_path: Path
) -> None:
    front_end = start_kernel(JPY_SESSION_NAME=str(tmp_path / "book.ipynb"))
    request = begin(front_end)
    page = FakePage(front_end, {"c1": ASK}, chooses="Allow once")
    page.connect()
    page.play(request)
    outcome = front_end.finish(request)
    assert "allowed by you" in outcome.text
    kinds = {message["msg_type"] for message in outcome.outputs}
    assert kinds == {"comm_open", "comm_msg", "display_data"}
    turns = [(event["state"], event.get("cell")) for event in page.events if event["event"] == "turn"]
    assert turns == [("working", "c1"), ("idle", None)]


def test_a_cell_that_no_page_has_run_is_one_of_a_batch_run(start_kernel: StartKernel, tmp_path: Path) -> None:
    front_end = start_kernel(JPY_SESSION_NAME=str(tmp_path / "book.ipynb"))
    request = begin(front_end)
    page = FakePage(front_end, {"c1": "Something else"})
    page.connect()
    page.play(request)
    assert "no one can answer here" in front_end.finish(request).text
    assert [call["op"] for call in page.calls if call["op"] != "read"] == ["claim"]
