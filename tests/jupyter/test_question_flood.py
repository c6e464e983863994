"""Questions among very many updates, and very many questions: each stays to be seen and is answered once.

JupyterLab hides what comes after a cell's 50th output, and jupyter_server drops messages above 1,000 a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from .asked import ALLOW, Asked, Wire
from .front_end import ARGV, FrontEnd, Message, kernel_process

SERVER_LIMIT = 1_000
"""Messages a second that jupyter_server passes on."""
MOST_OUTPUTS = 50


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory, wire: Wire) -> Iterator[FrontEnd]:
    with_guard = tuple(each for each in ARGV if "guard" not in each)  # without it, all answers come in one second
    environ = {"COPILOT_KERNEL_AGENT": wire.agent}
    with kernel_process(tmp_path_factory.mktemp("kernel"), environ, with_guard) as front_end:
        front_end.open_control()
        yield front_end
        assert front_end.complaints() == []


def busiest_second(published: list[Message]) -> int:
    """The most messages that were published within one second."""
    times: list[datetime] = sorted(message["header"]["date"] for message in published)
    first, most = 0, 0
    for last, at in enumerate(times):
        while (at - times[first]).total_seconds() > 1:
            first += 1
        most = max(most, last - first + 1)
    return most


def test_a_storm_of_updates_leaves_the_question_answerable(notebook: FrontEnd, wire: Wire) -> None:
    wire.mark()
    start = len(notebook.published)
    asked = Asked(notebook, "demo: together ask It ;; storm 5000 2000")
    asked.insist(ALLOW)
    assert wire.outcomes(1) == ["allow_once"]
    outcome = asked.finish()
    assert busiest_second(notebook.published[start:]) < SERVER_LIMIT / 4
    assert len(asked.outputs()) < MOST_OUTPUTS
    assert ("allowed by you" in outcome.text, "Update 4999" in str(outcome.outputs)) == (True, True)


def test_an_interrupt_cancels_all_of_many_questions_also_those_that_were_not_shown(
    notebook: FrontEnd, wire: Wire
) -> None:
    wire.mark()
    asked = Asked(notebook, f"demo: together {' ;; '.join(f'ask Number {number}' for number in range(20))}")
    notebook.manager.interrupt_kernel()
    assert wire.outcomes(20) == ["cancelled"] * 20
    assert asked.finish().error[0] == "Cancelled"
    assert len(wire.answers()) == 20
