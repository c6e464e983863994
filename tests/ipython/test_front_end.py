"""What is needed of ipykernel for buttons, and what happens where it is missing."""

from contextvars import ContextVar
from types import SimpleNamespace

import pytest
from copilot_kernel.ipython.front_end import clicks_arrive
from copilot_kernel.pages.page_comm import TARGET
from ipykernel.kernelbase import Kernel

from ..jupyter.front_end import FrontEnd, is_status, parent, states
from .conftest import StartKernel

OLDER = """
kernel = get_ipython().kernel
newer = kernel.dispatch_shell
async def dispatch_shell(msg, subshell_id=None):
    await newer(msg, subshell_id=subshell_id)
kernel.dispatch_shell = dispatch_shell
"""


def test_this_ipykernel_lets_clicks_arrive() -> None:
    kernel = SimpleNamespace(dispatch_shell=Kernel.dispatch_shell, _shell_parent=ContextVar("parent"))
    assert clicks_arrive(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        SimpleNamespace(),
        SimpleNamespace(dispatch_shell=lambda msg: None, _shell_parent=ContextVar("parent")),
        SimpleNamespace(dispatch_shell=Kernel.dispatch_shell, _shell_parent={}),
    ],
)
def test_another_one_does_not(kernel: SimpleNamespace) -> None:
    assert not clicks_arrive(kernel)


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


def test_with_an_older_ipykernel_a_question_is_a_line_of_input_and_tasks_go_on(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    front_end.run(OLDER)
    cell = front_end.execute("%copilot demo: ask Something")
    front_end.type("1")
    assert "allowed by you" in front_end.finish(cell).text
    opened = {m["content"]["target_name"] for m in front_end.published if m["msg_type"] == "comm_open"}
    assert opened <= {TARGET}
