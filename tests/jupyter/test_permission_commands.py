"""What `%permissions` sets holds for this conversation, or from now on."""

from __future__ import annotations

import json
from pathlib import Path

from .commanding import own
from .conftest import StartKernel
from .front_end import FrontEnd


def test_the_permission_mode_holds_for_one_conversation(fresh: FrontEnd) -> None:
    def asked() -> str:
        return fresh.run("demo: ask Something", live=False).text

    assert "Rejected" in asked()
    warned = fresh.run("%permissions mode bypassPermissions").text
    assert ("⚠ Nobody is asked" in warned, "Rejected" in asked()) == (True, False)
    assert "⚠ Nobody is asked" in fresh.run("%status").text
    assert "permissions: bypassPermissions" in fresh.run("demo: say hi").text
    fresh.run("%new")
    assert "Rejected" in asked()


def test_a_rule_is_set_shown_obeyed_logged_and_taken_back(fresh: FrontEnd, tmp_path: Path) -> None:
    def ran() -> str:
        return fresh.run("demo: shell echo out", live=False).text

    assert "Rejected" in ran()
    assert fresh.run("%permissions allow Bash(echo *)").text == "✓ Allowed in this conversation: Bash(echo *)"
    assert "allowed by the rule Bash(echo *)" in ran()
    fresh.run("%permissions deny Bash(echo out)")
    assert "denied by the rule Bash(echo out)" in ran()
    shown = fresh.run("%permissions").text
    rows = [line.split() for line in shown.splitlines()]
    assert ["allow", "Bash(echo", "*)", "this", "conversation"] in rows
    decided = [line.split()[:7] for line in shown.splitlines() if "$ echo out" in line]
    assert [(row[0], row[4], row[5]) for row in decided] == [
        ("1", "rejected", "nobody"),
        ("2", "allowed", "rule"),
        ("3", "rejected", "rule"),
    ]
    assert "No longer in force" in fresh.run("%permissions remove Bash(echo out)").text
    assert "allowed by the rule Bash(echo *)" in ran()
    fresh.run("%new")
    assert "Rejected" in ran()


def test_a_rule_can_be_kept_in_the_config_file(start_kernel: StartKernel, tmp_path: Path) -> None:
    config = tmp_path / "config"
    front_end = start_kernel(**own(tmp_path, JUPYTER_CONFIG_DIR=str(config)))
    said = front_end.run("%permissions allow Bash(echo out) --save").text
    assert said == f"✓ Allowed from now on: Bash(echo out) (saved in {config / 'copilot_kernel.json'})."
    assert json.loads((config / "copilot_kernel.json").read_text()) == {"allow": ["Bash(echo out)"]}
    front_end.run("%new")
    assert "allowed by the rule Bash(echo out)" in front_end.run("demo: shell echo out", live=False).text


def test_a_rule_that_means_everything_is_set_with_a_warning(fresh: FrontEnd) -> None:
    outcome = fresh.run("%permissions allow Bash(python *)")
    assert "Careful: Bash(python *): `python` can run any program" in outcome.text
    assert "Bash(python *)" in fresh.run("%status").text
