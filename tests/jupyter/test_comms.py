"""Several pages on one kernel, of which not all have widgets."""

import sys
from pathlib import Path

from copilot_kernel.frontend.questions import NOT_SHOWN

from .asked import Asked
from .front_end import FrontEnd, connected, kernel_process, parent

HASTY = (
    "import copilot_kernel.frontend.questions as questions; questions.GRACE_SECONDS = 0.1; "
    "from runpy import run_module; run_module('copilot_kernel', run_name='__main__', alter_sys=True)"
)


def test_a_page_without_widgets_closes_them_for_nobody(front_end: FrontEnd) -> None:
    """Notebook 7's list of files is connected to the kernels that it has started, and refuses each comm."""
    front_end.open_control()
    with connected(front_end.manager, front_end.log) as page:
        asked = Asked(front_end, "demo: ask")
        for model in asked.models():
            page.idle(page.send("comm_close", {"comm_id": model, "data": {}}))
        asked.click("Allow once")
        assert "allowed by you" in asked.finish().text


def test_a_front_end_closes_what_a_front_end_has_opened(front_end: FrontEnd) -> None:
    front_end.idle(front_end.send("comm_close", {"comm_id": "control", "data": {}}))
    asked = front_end.comm("control", {"method": "request_states"})
    front_end.idle(asked)
    assert [m["msg_type"] for m in front_end.published if m["parent_header"]["msg_id"] == asked] == ["status", "status"]


def opened_comm(page: FrontEnd, cell: str) -> str:
    """The comm with which the kernel asks whether the page has the extension."""
    opened = page.see(lambda m: m["content"].get("target_name") == "copilot.notebook" and parent(m) == cell)
    return str(opened["content"]["comm_id"])


def test_a_page_that_has_refused_the_comm_is_asked_again_by_the_next_cell(front_end: FrontEnd) -> None:
    """JupyterLab refuses it until it has loaded the extension."""
    with connected(front_end.manager, front_end.log) as page:
        for _ in range(2):
            cell = page.execute("demo: say Hello.")
            page.idle(page.send("comm_close", {"comm_id": opened_comm(page, cell), "data": {}}))
            assert page.finish(cell).text.strip().startswith("Hello.")


def test_a_question_that_no_page_draws_after_another_was_loaded_is_cancelled(tmp_path: Path) -> None:
    argv = (sys.executable, "-P", "-c", HASTY, "-f", "{connection_file}")
    with kernel_process(tmp_path, {}, argv) as front_end:
        front_end.open_control()
        asked = Asked(front_end, "demo: ask Something")
        with connected(front_end.manager, front_end.log) as page:
            page.open_control()
            assert f"not run ({NOT_SHOWN})" in asked.finish().text
            assert "A question was cancelled" in page.run("demo: say Next.").text
        assert front_end.complaints() == []
