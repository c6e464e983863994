"""What a page asks while a cell waits."""

import pytest

from ..jupyter.front_end import FrontEnd, is_status, parent, states


@pytest.mark.parametrize("message", ["kernel_info_request", "comm_info_request", "usage_request"])
def test_what_a_page_asks_while_a_cell_waits_is_answered_and_the_cell_is_busy_again(
    notebook: FrontEnd, message: str
) -> None:
    """JupyterLab takes the kernel for idle after each; the last one comes on the control channel."""
    cell = notebook.execute("%%copilot\ndemo: say Begun.\nwait")
    notebook.shows("Begun.", cell)
    start = len(notebook.published)
    assert (notebook.control if message == "usage_request" else notebook.ask)(message)
    idle = notebook.see(lambda m: is_status(m, "idle"), start=start)
    after = notebook.published.index(idle, start)
    notebook.see(lambda m: is_status(m, "busy") and parent(m) == cell, start=after)
    assert cell not in notebook.replies
    notebook.control("interrupt_request")
    notebook.finish(cell)
    assert states(notebook, cell)[-1] == "0 idle"
