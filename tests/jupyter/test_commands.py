"""Pickers of our commands in a kernel, seen from a front end with widgets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .commanding import Picked, own
from .front_end import FrontEnd, kernel_process


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel whose agent has everything to choose from, shared by the tests: each leaves it idle."""
    folder = tmp_path_factory.mktemp("rich")
    with kernel_process(folder, own(folder, COPILOT_KERNEL_DEMO="uri-modes,more-options")) as front_end:
        yield front_end
        assert front_end.complaints() == []


def test_a_session_is_picked_and_what_was_said_is_shown(rich: FrontEnd) -> None:
    for code in ("%new", "demo: say Apples", "%new", "demo: say Pears"):
        rich.run(code)
    for code in ("%sessions", "%resume"):
        shown = Picked(rich, code)
        rich.finish(shown.cell)
        rich.press(next(key for key, state in shown.models().items() if "Apples" in str(state.get("tooltip"))))
        rich.shows("say Apples", shown.cell)
        rich.shows("Resumed: ", shown.cell)
