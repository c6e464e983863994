"""Whatever comes, in whatever order, the conversation stays a conversation; and real ones read as they were."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.messages import TextBlock, ToolCallUpdate
from copilot_kernel.acp.parse import parse_update
from copilot_kernel.conversation.model import FINAL, Conversation, Notice, ToolCall
from copilot_kernel.conversation.reduce import ask, begin_turn, changed, decide, end_turn, reduce
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import examples
from .recorded import TRANSCRIPTS, replayed

Step = Callable[[Conversation], Conversation]

call_ids = st.sampled_from(["", "a", "b", "c"])
statuses = st.sampled_from([None, "pending", "in_progress", "completed", "failed", "cancelled", "odd"])
blocks = st.sampled_from([{"type": "text", "text": t} for t in ("", "x", "Info: y", "\n")] + [{"type": "?"}, 5])
raw_updates: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries(
        {
            "sessionUpdate": st.sampled_from(["tool_call", "tool_call_update"]),
            "toolCallId": call_ids,
            "status": statuses,
            "title": st.sampled_from([None, "T"]),
            "content": st.none() | st.lists(blocks, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {
            "sessionUpdate": st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
            "content": blocks,
            "messageId": st.sampled_from([None, "m", "n"]),
        }
    ),
    st.fixed_dictionaries(
        {"sessionUpdate": st.just("plan"), "entries": st.lists(st.just({"content": "p"}), max_size=2)}
    ),
    st.fixed_dictionaries({"sessionUpdate": st.just("current_mode_update"), "currentModeId": st.sampled_from("ab")}),
    st.fixed_dictionaries({"sessionUpdate": st.just("compaction_update"), "compactionId": st.just("c")}),
    st.fixed_dictionaries({"sessionUpdate": st.sampled_from(["new_1", "new_2", "notice"]), "title": st.just("N")}),
)


def answer(number: int, allowed: bool | None) -> Step:
    def step(before: Conversation) -> Conversation:
        asked = [e.id for e in before.entries if isinstance(e, ToolCall) and e.outcome.questions]
        return decide(before, asked[number % len(asked)], allowed, f"said {allowed}") if asked else before

    return step


steps: st.SearchStrategy[Step] = st.one_of(
    raw_updates.map(lambda raw: lambda before: reduce(before, parse_update(raw))),
    raw_updates.map(lambda raw: lambda before: reduce(before, parse_update(raw))),
    call_ids.map(lambda id_: lambda before: ask(before, ToolCallUpdate(id_))[0]),
    st.builds(answer, st.integers(0, 3), st.sampled_from([True, False, None])),
    st.just(lambda before: begin_turn(before, [TextBlock("Go")])),
    st.sampled_from(["end_turn", "cancelled"]).map(lambda reason: lambda before: end_turn(before, reason)),
)


@given(st.lists(steps, max_size=30))
@settings(max_examples=examples(300), deadline=None)
def test_a_conversation_keeps_its_promises_whatever_comes(sequence: list[Step]) -> None:
    before = Conversation()
    for step in sequence:
        after = step(before)
        assert [entry.id for entry in after.entries] == list(range(len(after.entries)))
        assert len(after.entries) >= len(before.entries)
        drawn = changed(before, after)
        for old, new in zip(before.entries, after.entries, strict=False):
            assert (type(new), new.turn) == (type(old), old.turn)
            assert (new in drawn) or new is old
            assert is_possible(old, new)
        before = after


def is_possible(old: object, new: object) -> bool:
    """What is over stays over, except for a fact about a call that was closed only with its turn."""
    if not (isinstance(old, ToolCall) and isinstance(new, ToolCall)) or old.status not in FINAL:
        return True
    return new.status == old.status or (old.outcome.verdict == "closed" and new.status in ("completed", "failed"))


# -- real agents ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_real_conversation_ends_with_nothing_open_and_nothing_unread(path: Path) -> None:
    after = replayed(path.stem)
    assert [entry for entry in after.entries if isinstance(entry, Notice)] == []
    assert {entry.status for entry in after.entries if isinstance(entry, ToolCall)} <= FINAL
    assert not after.live


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("copilot-edit-allowed", ["completed", "completed"]),
        ("copilot-edit-rejected", ["completed", "rejected"]),
        ("copilot-cancel-question", ["cancelled"]),
        ("copilot-cancel-shell", ["cancelled"]),
        ("copilot-parallel", ["completed", "completed"]),
        ("gemini-edit-rejected", ["completed", "rejected"]),
        ("gemini-cancel-question", ["cancelled"]),
        ("opencode-edit-rejected", ["completed", "rejected"]),
    ],
)
def test_a_real_agents_tool_calls_end_as_they_ended(name: str, statuses: list[str]) -> None:
    assert [entry.status for entry in replayed(name).entries if isinstance(entry, ToolCall)] == statuses
