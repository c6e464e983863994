"""Real agents' questions, as recorded: with the rules for what they do, nothing in them looks like a contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import PolicyContext, Rules, decide, paths

from .recorded import TRANSCRIPTS, played

ALLOW = ("Bash(echo *)", "Bash(touch never)", "Bash(sleep 50)", "Bash(exit 3)", "Edit")


def _asked(path: Path) -> Iterator[tuple[ToolCall, ToolCall | None]]:
    """Each call that was asked about, with what was shown of it before."""
    for before, now, number in played(path):
        if number is not None:
            earlier = before.entries[number] if number < len(before.entries) else None
            call = now.entries[number]
            assert isinstance(call, ToolCall)
            yield call, earlier if isinstance(earlier, ToolCall) else None


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_question_is_answered_by_the_rules_for_it(path: Path) -> None:
    rules, problems, _ = Rules.read(ALLOW)
    assert problems == ()
    for call, earlier in _asked(path):
        start = PolicyContext(rules=rules, root="/project", cwd="/project")
        known = replace(start, real={each: each for each in paths(call, start)})
        decision = decide(call, (), known, earlier)
        says_nothing = (call.kind == "execute" and call.raw_input is None) or call.kind in ("other", "switch_mode")
        expected = "does not offer to allow it only once" if not says_nothing else ""
        assert expected in decision.reason, (call, decision.reason)


def test_there_are_questions_of_every_kind() -> None:
    kinds = {(path.stem.split("-")[0], call.kind) for path in TRANSCRIPTS for call, _ in _asked(path)}
    assert {(agent, kind) for agent in ("copilot", "opencode", "gemini") for kind in ("edit", "execute")} <= kinds
