"""Conversations with real agents outlive the agent and the kernel; commands list, begin and resume them."""

from typing import Any

import pytest

from .features import REMEMBERED

Json = dict[str, Any]
FORGETFUL = ("gemini",)
"""It offers `session/load` and refuses it, and offers no list."""

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated"), pytest.mark.timeout(300)]


def forgets(findings: Json) -> bool:
    return findings["agent"] in FORGETFUL


@pytest.mark.parametrize(("cell", "line"), [
    ("after-kill", "The agent was started again and goes on with the conversation."),
    ("after-restart", "Continues the conversation of 20"),
])  # fmt: skip
def test_the_next_prompt_goes_on_with_the_conversation(findings: Json, cell: str, line: str) -> None:
    seen = findings[cell]
    line = "The conversation before this point cannot be gone on with, so a new one begins" * forgets(findings) or line
    assert seen["status"] == "ok"
    assert line in seen["text"].partition("\n")[0]
    assert (REMEMBERED in seen["text"]) is not forgets(findings)


def test_what_was_said_before_is_not_drawn_again(findings: Json) -> None:
    for cell in ("after-kill", "after-restart"):
        assert "three lines" not in "\n".join(findings[cell]["text"].splitlines()[1:])


def test_the_whole_agent_was_killed_with_the_servers_that_it_had_started(findings: Json) -> None:
    assert "python" in findings["after-kill"]["killed"]
    assert len(findings["after-kill"]["killed"]) > 1


def test_a_new_conversation_knows_nothing_of_the_one_before(findings: Json) -> None:
    assert findings["new"]["next"].splitlines()[0] == "I remember: the day is Monday"


def test_both_conversations_are_listed(findings: Json) -> None:
    seen = findings["sessions"]
    if forgets(findings):
        assert (seen["error"], "does not offer" in seen["text"]) == ("UsageError", True)
        return
    _, head, *rows, foot = seen["text"].splitlines()
    assert (head.split()[0], foot) == ("ID", "%resume ID goes on with one.")
    assert [row.endswith("open") for row in rows] == [True, False]


def test_an_earlier_conversation_is_shown_again_and_goes_on(findings: Json) -> None:
    seen = findings["resume"]
    if forgets(findings):
        assert (seen["error"], "does not offer" in seen["text"]) == ("UsageError", True)
        return
    assert "There are **three lines**." in seen["text"]
    assert "Changed." in seen["text"]
    assert REMEMBERED in seen["next"]
    assert "Monday" not in seen["next"]
