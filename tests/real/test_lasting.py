"""Conversations with real agents outlive the agent and the kernel; commands list, begin and resume them."""

from typing import Any

import pytest

from .conftest import EVERY_AGENT
from .features import draws_again, remembers

Json = dict[str, Any]
FORGETFUL = ("gemini",)
"""It offers `session/load`, which it refuses the second time, and sends what was said after its answer; no list."""

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


agents_with_memory = pytest.mark.parametrize(
    "findings", [agent for agent in EVERY_AGENT if agent.name not in FORGETFUL], ids=str, indirect=True
)


def forgets(findings: Json) -> bool:
    return findings["agent"] in FORGETFUL


def test_the_next_prompt_goes_on_when_the_agent_was_killed(findings: Json) -> None:
    seen = findings["after-kill"]
    line = "The agent was restarted and continues the conversation."
    assert (seen["status"], line in seen["text"], remembers(seen["text"])) == ("ok", True, True)


@agents_with_memory
def test_the_next_prompt_goes_on_when_the_kernel_was_restarted(findings: Json) -> None:
    seen = findings["after-restart"]
    assert (seen["status"], remembers(seen["text"])) == ("ok", True)
    assert "Resumed the conversation from 20" in seen["text"].splitlines()[0]


def test_where_it_cannot_go_on_a_line_says_so(findings: Json) -> None:
    seen = findings["after-restart"]
    line = "A new conversation starts here, because the previous one could not be resumed"
    assert (line in seen["text"].splitlines()[0]) is forgets(findings)
    assert seen["status"] == "ok"


@agents_with_memory
def test_what_was_said_before_is_not_drawn_again(findings: Json) -> None:
    for cell in ("after-kill", "after-restart"):
        assert not draws_again(findings[cell]["text"])


def test_the_whole_agent_was_killed_with_the_servers_that_it_had_started(findings: Json) -> None:
    assert "python" in findings["after-kill"]["killed"]
    assert len(findings["after-kill"]["killed"]) > 1


def test_a_new_conversation_knows_nothing_of_the_one_before(findings: Json) -> None:
    assert findings["new"]["next"].splitlines()[0] == "I remember: the day is Monday"


def test_both_conversations_are_listed(findings: Json) -> None:
    seen = findings["sessions"]
    if forgets(findings):
        assert (seen["error"], "does not support this" in seen["text"]) == ("UsageError", True)
        return
    _, head, *rows, foot = seen["text"].splitlines()
    assert (head.split()[0], foot) == ("ID", "%resume ID resumes one.")
    assert [row.endswith("open") for row in rows] == [True, False]


def test_an_earlier_conversation_is_shown_again_and_goes_on(findings: Json) -> None:
    seen = findings["resume"]
    if forgets(findings):
        assert (seen["error"], "does not support this" in seen["text"]) == ("UsageError", True)
        return
    assert "There are **three lines**." in seen["text"]
    assert "Changed." in seen["text"]
    assert remembers(seen["next"])
    assert "Monday" not in seen["next"]
