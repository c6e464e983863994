"""An answer says what it allows, and who gave it."""

import pytest
from copilot_kernel.acp.messages import Option
from copilot_kernel.permissions.question import Answer


def option(kind: str) -> Option:
    return Option("1", "The option", kind)


@pytest.mark.parametrize(
    ("answer", "allows", "words"),
    [
        (Answer(option("allow_once"), "you"), True, "Allowed: The option (you)"),
        (
            Answer(option("allow_always"), "rule", "allowed by the rule Edit"),
            True,
            "Allowed: The option (allowed by the rule Edit)",
        ),
        (Answer(option("reject_once"), "you"), False, "Rejected: The option (you)"),
        (Answer(option("reject_always"), "nobody", "nobody is there"), False, "Rejected: The option (nobody is there)"),
        (Answer(option("allow_for_an_hour"), "you"), False, "Answered: The option (you)"),
        (
            Answer(option("allow_once"), "you", rule="Bash(ls)"),
            True,
            "Allowed: The option (you); rule added for this session: Bash(ls)",
        ),
        (
            Answer(option("allow_once"), "you", rule="Bash(ls)", keep="settings"),
            True,
            "Allowed: The option (you); rule added in your settings: Bash(ls)",
        ),
        (
            Answer(option("reject_once"), "you", feedback="Not\n this."),
            False,
            "Rejected: The option (you); the agent is told: Not this.",
        ),
        (Answer(None, "cancel"), False, "Cancelled: no answer"),
        (Answer(None, "cancel", "withdrawn"), False, "Cancelled: withdrawn"),
    ],
)
def test_an_answer_in_words(answer: Answer, allows: bool, words: str) -> None:
    assert (answer.allows, answer.words) == (allows, words)
