"""What the agent offers, by short names."""

from typing import Any

import pytest
from copilot_kernel.acp.results import parse_session
from copilot_kernel.chat.choices import Choice, SessionSetting, find, find_option, models, modes, more_options, options
from copilot_kernel.errors import UsageError

URI = "https://agentclientprotocol.com/protocol/session-modes#"
OPTIONS: list[dict[str, Any]] = [
    {
        "id": "mode",
        "name": "Session mode",
        "category": "mode",
        "type": "select",
        "currentValue": f"{URI}plan",
        "options": [{"value": f"{URI}agent", "name": "Agent"}, {"value": f"{URI}plan", "name": "Plan ahead"}],
    },
    {
        "id": "brain",
        "category": "model",
        "type": "select",
        "currentValue": "acme/fast",
        "options": [
            {"group": "acme", "options": [{"value": "acme/fast", "name": "Fast", "description": "quick"}]},
            {"group": "other", "options": [{"value": "other/fast", "name": "Fast"}]},
        ],
    },
    {"id": "careful", "name": "Careful", "description": "Looks twice", "type": "boolean", "currentValue": False},
    {"id": "odd", "name": "Odd", "type": "slider", "currentValue": 3},
]
STATE = parse_session({"sessionId": "s", "configOptions": OPTIONS})
MODE = SessionSetting(
    "mode", "Mode", (Choice(f"{URI}agent", "agent", "Agent"), Choice(f"{URI}plan", "plan", "Plan ahead")), 1
)
FAST = (Choice("acme/fast", "acme/fast", "Fast", "quick"), Choice("other/fast", "other/fast", "Fast"))
MODEL = SessionSetting("model", "Model", FAST, 0)
CAREFUL = SessionSetting("careful", "Careful", (Choice(True, "on"), Choice(False, "off")), 1, "Looks twice")
ODD = SessionSetting("odd", "Odd", ())


def test_modes_and_models_are_offered_by_short_names_and_all_options_in_the_agents_order() -> None:
    assert (modes(STATE), models(STATE), more_options(STATE)) == (MODE, MODEL, (CAREFUL, ODD))
    assert [option.id for option in options(STATE)] == ["mode", "brain", "careful", "odd"]
    assert (modes(None).choices, models(None).choices, options(None), more_options(None)) == ((), (), (), ())


def test_addresses_with_the_same_end_keep_their_whole_name() -> None:
    available = [{"id": "https://a.example#plan"}, {"id": "https://b.example#plan"}, {"id": "https://b.example#do"}]
    state = parse_session({"sessionId": "s", "modes": {"currentModeId": "gone", "availableModes": available}})
    setting = modes(state)
    words = ["https://a.example#plan", "https://b.example#plan", "do"]
    assert ([choice.word for choice in setting.choices], setting.chosen) == (words, None)


@pytest.mark.parametrize(
    ("setting", "typed", "value"),
    [
        (MODE, "plan", f"{URI}plan"),
        (MODE, f"{URI}agent", f"{URI}agent"),
        (MODE, "plan  ahead", f"{URI}plan"),
        (CAREFUL, "on", True),
        (CAREFUL, "false", False),
        (ODD, "4", "4"),  # it lists none
    ],
)
def test_a_choice_is_found_by_value_word_or_name(setting: SessionSetting, typed: str, value: object) -> None:
    assert find(setting, typed).value == value


@pytest.mark.parametrize(
    ("setting", "typed", "message", "hint"),
    [
        (MODE, "plam", 'Unknown mode "plam".', "Did you mean plan? Choose one of: agent, plan."),
        (MODEL, "fast", 'Unknown model "fast".', "Did you mean acme/fast? Choose one of: acme/fast, other/fast."),
        (CAREFUL, "maybe", 'Unknown careful "maybe".', "Choose one of: on, off."),
    ],
)
def test_an_unknown_choice_is_an_error(setting: SessionSetting, typed: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(setting, typed)
    assert (str(caught.value), caught.value.hint) == (message, hint)


def test_an_option_is_found_by_its_id() -> None:
    assert find_option(options(STATE), "CAREFUL") == CAREFUL
    with pytest.raises(UsageError, match="Unknown option") as caught:
        find_option(options(STATE), "carefull")
    assert caught.value.hint == "Did you mean careful? Choose one of: mode, brain, careful, odd."


def test_a_label_has_the_agents_name_and_what_is_typed() -> None:
    assert (Choice("x", "x", "X").label, Choice("https://a#x", "x", "The X").label) == ("X", "The X (x)")
