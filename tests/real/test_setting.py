"""Modes, models and options of real agents, their own commands, and what goes with a prompt."""

from typing import Any

import pytest
from copilot_kernel.frontend.agent_commands import NO_CHOICE

from .conftest import EVERY_AGENT
from .setting import EFFECTS

Json = dict[str, Any]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]
agents_with_models = pytest.mark.parametrize("findings", [a for a in EVERY_AGENT if a.model], ids=str, indirect=True)
agents_with_options = pytest.mark.parametrize("findings", [a for a in EVERY_AGENT if a.option], ids=str, indirect=True)
copilot = pytest.mark.parametrize("findings", [a for a in EVERY_AGENT if a.name == "copilot"], ids=str, indirect=True)


def test_a_mode_is_named_in_one_word_and_told_to_the_model(findings: Json) -> None:
    seen = findings["modes"]
    words = [line.strip("• ").split(" ")[0] for line in seen["text"].splitlines()[2:]]
    assert "plan" in words
    assert (seen["begins"], seen["plans"]) == (False, True)
    assert "mode: plan" in seen["footer"]


@copilot
def test_addresses_of_modes_are_not_shown(findings: Json) -> None:
    assert "https://" not in findings["modes"]["text"] + findings["modes"]["footer"] + findings["options"]["text"]


@agents_with_models
def test_another_model_is_used(findings: Json) -> None:
    assert findings["models"]["used"]


@copilot
def test_where_no_models_are_told_the_cell_says_so(findings: Json) -> None:
    """Signed in, there are some."""
    seen = findings["models"]
    assert (seen["error"], NO_CHOICE.format("model") in seen["text"]) == ("UsageError", True)


@agents_with_options
def test_an_option_that_is_set_shows_in_what_the_agent_does(findings: Json) -> None:
    assert findings["options"]["works"]


def test_every_option_that_is_tried_has_an_effect_that_is_looked_for() -> None:
    assert {agent.option for agent in EVERY_AGENT if agent.option} == set(EFFECTS)


def test_its_own_commands_are_offered_and_answered(findings: Json) -> None:
    seen = findings["commands"]
    assert (seen["status"], seen["answered"]) == ("ok", True)
    assert len(seen["offered"]) > 2
    assert all(name.startswith("/") for name in seen["offered"])


def test_an_attached_image_reaches_the_model(findings: Json) -> None:
    assert (findings["image"]["status"], findings["image"]["told"]) == ("ok", True)


def test_mentioned_and_attached_files_reach_the_model(findings: Json) -> None:
    assert (findings["files"]["status"], findings["files"]["told"]) == ("ok", [True, True])
