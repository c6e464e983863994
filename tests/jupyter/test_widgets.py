"""Forms of the agent and pickers of our commands, seen from a front end with widgets on a real kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .asked import Picked
from .conftest import StartKernel
from .front_end import FrontEnd, Outcome


def answered(outcome: Outcome) -> Any:
    """What the demo agent says it was answered."""
    said = next(line for line in outcome.text.splitlines() if line.startswith("You answered: "))
    return json.loads(said.removeprefix("You answered: "))


def test_a_form_is_filled_in_while_the_cell_runs(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: elicit form")
    shown.enter("Name", value="Ada")
    shown.enter("Mail address", value="ada@example.org")
    shown.enter("Size", index=2)
    shown.enter("Weight", value="2.5")
    shown.enter("Is it a gift?", value=True)
    shown.enter("Extras", index=[0, 2])
    shown.click("Submit")
    outcome = shown.finish()
    content = {"name": "Ada", "mail": "ada@example.org", "colour": "green", "size": "l", "count": 3, "weight": 2.5}
    content |= {"gift": True, "extras": ["card", "candle"]}
    assert answered(outcome) == {"action": "accept", "content": content}
    assert "Answered: Name: Ada; Mail address: ada@example.org; Colour: green; Size: Large" in outcome.text


def test_an_interrupt_cancels_the_form_and_the_turn(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: elicit form\nsay Never said.")
    notebook.manager.interrupt_kernel()
    outcome = shown.finish()
    assert outcome.status == "error", outcome.text
    assert outcome.error == ("Cancelled", "Stopped.")
    assert ("ℹ Cancelled" in outcome.text, "Never said." in outcome.text) == (True, False)


def test_a_session_is_picked_and_what_was_said_is_shown(start_kernel: StartKernel, tmp_path: Path) -> None:
    own = {name: str(tmp_path / name) for name in ("COPILOT_KERNEL_DEMO_HOME", "COPILOT_KERNEL_STATE")}
    kernel = start_kernel(**own)
    kernel.open_control()
    for code in ("%new", "demo: say Apples", "%new", "demo: say Pears"):
        kernel.run(code)
    for code in ("%sessions", "%resume"):
        shown = Picked(kernel, code)
        kernel.finish(shown.cell)
        kernel.press(next(key for key, state in shown.models().items() if "Apples" in str(state.get("tooltip"))))
        kernel.shows("say Apples", shown.cell)
        kernel.shows("Resumed: ", shown.cell)
