"""Several pages on one kernel, of which not all have widgets."""

from copilot_kernel.pages.page_comm import TARGET

from .asked import Asked
from .front_end import FrontEnd, connected, parent


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


def await_comm(page: FrontEnd, cell: str) -> None:
    """Wait until the kernel asks whether the page has the extension."""
    page.see(lambda m: m["content"].get("target_name") == TARGET and parent(m) == cell)


def test_a_page_that_has_refused_the_comm_is_asked_again_by_the_next_cell(front_end: FrontEnd) -> None:
    """JupyterLab refuses it until it has loaded the extension."""
    with connected(front_end.manager, front_end.log) as page:
        for _ in range(2):
            cell = page.execute("demo: say Hello.")
            await_comm(page, cell)
            assert page.finish(cell).text.strip().startswith("Hello.")
