"""What is needed of ipykernel for buttons, and what happens where it is missing."""

from contextvars import ContextVar
from types import SimpleNamespace

import pytest
from copilot_kernel.frontend.page_comm import TARGET
from copilot_kernel.ipython.front_end import clicks_arrive
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


@pytest.mark.parametrize("first_asked", ["kernel_info_request", "comm_info_request"])
def test_what_a_page_asks_first_is_answered_while_a_cell_waits_which_is_busy_again(
    notebook: FrontEnd, first_asked: str
) -> None:
    start = len(notebook.published)
    cell = notebook.execute("%copilot demo: ask Something")
    button = notebook.button("Allow once", since=start)
    request = notebook.send(first_asked)
    assert notebook.reply(request)["content"]["status"] == "ok"
    notebook.idle(request)
    again = len(notebook.published)
    notebook.see(lambda m: is_status(m, "busy") and parent(m) == cell, start=again)
    assert states(notebook, request) == ["0 busy", "0 idle"]
    assert cell not in notebook.replies
    notebook.click(button)
    assert notebook.finish(cell).status == "ok"


def test_with_an_older_ipykernel_a_question_is_a_line_of_input_and_tasks_go_on(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    front_end.run(OLDER)
    cell = front_end.execute("%copilot demo: ask Something")
    front_end.type("1")
    assert "allowed by you" in front_end.finish(cell).text
    opened = {m["content"]["target_name"] for m in front_end.published if m["msg_type"] == "comm_open"}
    assert opened <= {TARGET}
