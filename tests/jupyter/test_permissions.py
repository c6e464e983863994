"""The policy at work in cells: a word with a no, acts without a question, rules that need nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commanding import own
from .conftest import StartKernel
from .front_end import LIMIT, FrontEnd


def test_the_reason_of_a_no_goes_to_the_agent_and_its_answer_into_the_same_cell(fresh: FrontEnd) -> None:
    cell = fresh.execute("demo: shell touch made", cell_id=None)
    fresh.client.get_stdin_msg(timeout=LIMIT)
    fresh.client.input("3 because demo: say I shall not touch it")
    text = fresh.finish(cell).text
    places = [
        text.rfind(words) for words in ("Rejected: Deny", "You told the agent: demo: say", "I shall not touch it")
    ]
    assert (places == sorted(places), -1 in places, text.count("demo agent ·")) == (True, False, 1)
    assert "This is prompt 3 of this session" in fresh.run("demo: remember").text


@pytest.mark.parametrize("live", [True, False])
def test_a_saved_notebook_tells_what_ran_without_asking(fresh: FrontEnd, live: bool) -> None:
    text = fresh.run("demo: unasked echo out", live=live).text
    assert "✓ Run echo out · done, exit code 0 · ⚠ ran a command without asking" in text
    assert text.splitlines()[-1].startswith("⚠ 1 ran without asking · demo agent")
    assert "ran without asking" in fresh.run("%permissions").text


def test_what_a_rule_would_have_allowed_is_not_accused(start_kernel: StartKernel, tmp_path: Path) -> None:
    text = start_kernel(**own(tmp_path, COPILOT_KERNEL_ALLOW='["Bash(echo *)"]')).run("demo: unasked echo out").text
    assert ("covered by the rule Bash(echo *)" in text, "⚠" in text) == (True, False)


def test_acting_without_asking_can_cancel_the_turn(start_kernel: StartKernel, tmp_path: Path) -> None:
    front_end = start_kernel(**own(tmp_path, COPILOT_KERNEL_ON_UNASKED="cancel"))
    outcome = front_end.run("demo: unasked echo out\nslow 10000")
    assert (outcome.status, outcome.error[0]) == ("error", "Cancelled")
    assert "The turn was cancelled, because the agent ran a command without asking: $ echo out" in outcome.text


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions", "plan"])
def test_a_mode_that_is_not_the_default_stands_in_every_footer(fresh: FrontEnd, mode: str) -> None:
    fresh.run(f"%permissions mode {mode}")
    assert f"permissions: {mode} · demo agent" in fresh.run("demo: say hi", live=False).text
    assert mode in fresh.run("%status").text
