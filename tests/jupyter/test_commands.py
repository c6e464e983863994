"""Pickers of our commands in a kernel, seen from a front end with widgets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from copilot_kernel.frontend.pickers import WAITING

from .commanding import Picked, own, status
from .front_end import FrontEnd, Message, kernel_process


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel whose agent has everything to choose from, shared by the tests: each leaves it idle."""
    folder = tmp_path_factory.mktemp("rich")
    with kernel_process(folder, own(folder, COPILOT_KERNEL_DEMO="uri-modes,more-options")) as front_end:
        yield front_end
        assert front_end.complaints() == []


class Shown(Picked):
    """A cell that has ended, and its picker."""

    def __init__(self, front_end: FrontEnd, code: str) -> None:
        super().__init__(front_end, code)
        self.outcome = front_end.finish(self.cell)

    def reports(self, words: str) -> None:
        """Wait until the picker reports this."""

        def wanted(message: Message) -> bool:
            return message["msg_type"] == "comm_msg" and 'role="status"' in (found := str(message)) and words in found

        self.front_end.see(wanted, start=self._start)


def test_the_cell_of_a_picker_ends_and_what_is_picked_later_is_set(rich: FrontEnd) -> None:
    rich.run("%mode agent")
    shown = Shown(rich, "%mode")
    assert (shown.outcome.status, "plan" in shown.outcome.text) == ("ok", True)
    shown.enter("Mode", index=1)
    rich.shows("Mode: Plan", shown.cell)
    shown.reports("Mode: Plan")
    assert status(rich, "Mode") == "Plan"


def test_what_is_picked_during_a_turn_is_set_at_its_end(rich: FrontEnd) -> None:
    rich.run("%mode agent")
    shown = Shown(rich, "%mode")
    turn = rich.execute("demo: say One.\nwait 60")
    rich.shows("One.", turn)
    shown.enter("Mode", index=1)
    shown.reports(WAITING)
    rich.control("interrupt_request")
    rich.finish(turn)
    rich.shows("Mode: Plan", shown.cell)
    assert status(rich, "Mode") == "Plan"


@pytest.mark.parametrize("code", ["%mode agent", "%new", "%restart"])
def test_a_picker_of_before_is_out_of_date(rich: FrontEnd, code: str) -> None:
    shown = Shown(rich, "%mode")
    rich.run(code)
    rich.shows("Run %mode again", shown.cell)


def test_a_session_is_picked_and_what_was_said_is_shown(rich: FrontEnd) -> None:
    rich.run("%new")
    rich.run("demo: say Apples")
    rich.run("%new")
    rich.run("demo: say Pears")
    for code in ("%sessions", "%resume"):
        shown = Shown(rich, code)
        rich.press(next(key for key, state in shown.models().items() if "Apples" in str(state.get("tooltip"))))
        rich.shows("say Apples", shown.cell)
        rich.shows("Resumed: ", shown.cell)
