"""What was said, from what agents send: in any order, incomplete, repeated and late."""

from collections.abc import Sequence
from typing import Any

import pytest
from copilot_kernel.acp.messages import (
    AvailableCommand,
    Chunk,
    CommandsUpdate,
    CompactionChunk,
    CompactionUpdate,
    ConfigUpdate,
    ImageBlock,
    InfoUpdate,
    Mode,
    ModeUpdate,
    NoticeUpdate,
    PlanEntry,
    PlanUpdate,
    ResourceLink,
    SessionState,
    Speaker,
    TextBlock,
    ToolCallUpdate,
    UnknownBlock,
    UnknownUpdate,
    Update,
    UsageUpdate,
)
from copilot_kernel.conversation.model import Attachment, Conversation, Message, Notice, Plan
from copilot_kernel.conversation.reduce import KEPT_TURNS, begin_turn, changed, end_turn, reduce
from copilot_kernel.conversation.text import GrowingText
from msgspec.structs import replace

from ..growth import FACTOR, is_linear
from .playing import play, turn


def say(text: str, speaker: Speaker = "agent", message_id: str | None = None) -> Chunk:
    return Chunk(speaker, TextBlock(text), message_id)


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(e.speaker, str(e.text)) for e in conversation.entries[1:] if isinstance(e, Message)]


# -- turns ---------------------------------------------------------------------------------------------------


def test_a_turn_begins_with_what_the_user_said() -> None:
    image, link = ImageBlock("aA==", "image/png"), ResourceLink("file:///a", "a")
    assert begin_turn(Conversation(), [TextBlock("one"), image, TextBlock("two"), link]) == Conversation(
        entries=(
            Message(0, 1, "user", GrowingText("one\n\ntwo")),
            Attachment(1, 1, "user", image),
            Attachment(2, 1, "user", link),
        ),
        turn=1,
        live=True,
    )


def test_only_so_many_turns_are_kept_and_what_comes_late_for_the_others_belongs_to_the_last_one() -> None:
    now, most = Conversation(), 0
    for number in range(3 * KEPT_TURNS):
        before, now = now, begin_turn(now, [TextBlock(f"Prompt {number}")])
        assert [entry.id for entry in changed(before, now)] == [number * 2]
        now = end_turn(reduce(now, ToolCallUpdate(f"call {number}", begins=True)), "end_turn")
        most = max(most, len([*now.entries]))
    assert (len(now.entries), most) == (6 * KEPT_TURNS, 4 * KEPT_TURNS)
    now = reduce(now, ToolCallUpdate("call 0", status="completed"))
    assert (now.entries[-1].id, now.entries[-1].turn) == (6 * KEPT_TURNS, 3 * KEPT_TURNS)
    assert reduce(now, ToolCallUpdate(f"call {number}", status="completed")).entries[-1] is now.entries[-1]


def test_what_comes_after_the_end_belongs_to_the_last_turn() -> None:
    ended = end_turn(play(say("Do")), "end_turn")
    assert play(say("ne"), start=ended).entries[1:] == (Message(1, 1, "agent", GrowingText("Done")),)
    assert play(say("new"), start=turn(ended, "2")).entries.of_turn(2) == (
        (Message(2, 2, "user", GrowingText("2")), Message(3, 2, "agent", GrowingText("new")))
    )


# -- messages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "messages"),
    [
        ([say("a"), say("b")], [("agent", "ab")]),
        ([say("")], []),
        ([say("a", "thought"), say("b"), say("c", "thought")], [("thought", "a"), ("agent", "b"), ("thought", "c")]),
        ([say("a", message_id="1"), say("b", message_id="2")], [("agent", "a"), ("agent", "b")]),
        ([say("a", message_id="1"), say("b"), say("c", message_id="1")], [("agent", "abc")]),
        ([say("a"), say("b", message_id="1"), say("c", message_id="2")], [("agent", "ab"), ("agent", "c")]),
        ([say("a"), ToolCallUpdate("t"), say("b")], [("agent", "a"), ("agent", "b")]),
    ],
)
def test_chunks_of_one_message_are_joined(chunks: Sequence[Update], messages: list[tuple[str, str]]) -> None:
    assert said(play(*chunks)) == messages


@pytest.mark.parametrize(
    ("update", "text", "messages"),
    [
        (ToolCallUpdate("t", meta={"github.com/copilot": {"agentId": "a"}}), "sub done", ["Meanwhile", "sub done"]),
        (ToolCallUpdate("t", status="completed"), "Done.", ["Meanwhile", "Done."]),
        (ToolCallUpdate("t", status="completed"), " it goes on", ["Meanwhile it goes on"]),
        (ToolCallUpdate("t", status="in_progress"), "_time_", ["Meanwhile_time_"]),
    ],
)
def test_where_another_may_speak_after_a_tools_event_the_text_is_a_message_of_its_own(
    update: ToolCallUpdate, text: str, messages: list[str]
) -> None:
    found = said(play(ToolCallUpdate("t", begins=True), say("Mean"), say("while"), update, say(text), say("")))
    assert found == [("agent", each) for each in messages]


@pytest.mark.parametrize(
    ("given", "of_task"),
    [
        ({"agent_type": "general-purpose", "mode": "sync"}, True),
        ({"subagent_type": "Explore"}, True),
        ({"agent_type": "general-purpose", "mode": "background"}, False),
        ({"command": "ls"}, False),
    ],
)
def test_while_the_agent_waits_for_a_sub_agent_the_text_is_that_ones_and_no_answer(given: Any, of_task: bool) -> None:
    task = ToolCallUpdate("t", begins=True, raw_input=given)
    done = ToolCallUpdate("t", status="completed")
    after = play(say("I ask."), task, say("sub "), say("says"), done, say("All done."))
    texts = [(str(each.text), each.of_task) for each in after.entries if isinstance(each, Message)]
    assert texts[1:] == [("I ask.", False), ("sub says", of_task), ("All done.", False)]
    assert ("sub says" in after.answer) == (not of_task)


@pytest.mark.parametrize(
    ("parts", "running", "ended"),
    [
        (["A\ud83d", "\ude00B"], "A😀B", "A😀B"),
        (["\ud83d", "\ude00", "\ud83d", "\ude00"], "😀😀", "😀😀"),
        (["A\ud83d", "B"], "A\ud83dB", "A\ud83dB"),
        (["A", "\ude00B"], "A\ude00B", "A\ude00B"),
        (["A\ud83d"], "A", "A\ud83d"),
    ],
)
def test_half_of_a_character_waits_for_the_other_half(parts: list[str], running: str, ended: str) -> None:
    conversation = play(*(Chunk("agent", TextBlock(part)) for part in parts), start=turn())
    assert (conversation.answer, end_turn(conversation, "end_turn").answer) == (running, ended)


def test_the_echo_of_the_prompt_is_hidden_in_a_running_turn_only() -> None:
    echo = say("Go", "user")
    before = turn()
    assert reduce(before, echo) is before
    assert said(play(echo, start=end_turn(before, "end_turn"))) == []
    assert play(echo, start=Conversation()).entries == (Message(0, 0, "user", GrowingText("Go")),)


def test_what_is_no_text_is_an_attachment_between_the_messages() -> None:
    image, odd = ImageBlock("aA==", "image/png"), UnknownBlock({"type": "new"})
    assert play(say("a"), Chunk("agent", image), Chunk("thought", odd), say("b")).entries[1:] == (
        Message(1, 1, "agent", GrowingText("a")),
        Attachment(2, 1, "agent", image),
        Attachment(3, 1, "thought", odd),
        Message(4, 1, "agent", GrowingText("b")),
    )


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (["Text.", "Info: Retrying..."], "Text.\n\nInfo: Retrying..."),
        (["Text.\n", "Info: x"], "Text.\nInfo: x"),
        (["Info: one", "Info: two"], "Info: one\n\nInfo: two"),
        (["Info: /project/new.py", "Created."], "Info: /project/new.py\n\nCreated."),
        (["Text.", "Info: x", "Über", " alles"], "Text.\n\nInfo: x\n\nÜber alles"),
        (["Error: could n", "ot open", " File"], "Error: could not open File"),
        (["Error: ", "Permission denied"], "Error: Permission denied"),
        (["the Info: x", "Y"], "the Info: xY"),
    ],
)
def test_copilots_own_lines_are_set_apart_from_the_models_text(parts: list[str], text: str) -> None:
    assert said(play(*map(say, parts))) == [("agent", text)]


# -- the plan ------------------------------------------------------------------------------------------------

LOOK = PlanUpdate((PlanEntry("Look", status="in_progress"), PlanEntry("Leap")))


def test_there_is_one_plan_a_turn_and_it_is_replaced() -> None:
    looking = PlanUpdate((PlanEntry("Looking", status="completed"), PlanEntry("Leap")), "How")
    assert play(LOOK, say("a"), looking).entries[1:] == (
        Plan(1, 1, looking.entries, "How"),
        Message(2, 1, "agent", GrowingText("a")),
    )
    second = play(LOOK, start=turn(play(looking), "2"))
    assert second.entries[-1] == Plan(3, 2, LOOK.entries)


def test_an_empty_plan_is_no_plan_but_empties_one() -> None:
    before = turn()
    assert reduce(before, PlanUpdate(())) is before
    assert play(LOOK, PlanUpdate(())).entries[1:] == (Plan(1, 1, ()),)


# -- notices -------------------------------------------------------------------------------------------------


def test_a_notice_is_shown_with_its_severity() -> None:
    assert play(NoticeUpdate("warning", "Slow", "very"), NoticeUpdate("other", "By the way")).entries[1:] == (
        Notice(1, 1, "warning", "Slow", "very"),
        Notice(2, 1, "info", "By the way"),
    )


def test_what_cannot_be_read_is_one_line_for_each_kind_and_turn() -> None:
    flood = [UnknownUpdate("new_thing", {"n": n}) for n in range(3)]
    after = play(flood[0], say("a"), *flood[1:], UnknownUpdate("", None))
    title = "Unsupported update “new_thing”"
    assert after.entries[1:] == (
        Notice(1, 1, "unknown", title, "3 times", {"n": 0}, "update new_thing", 3),
        Message(2, 1, "agent", GrowingText("a")),
        Notice(3, 1, "unknown", "Unsupported update without a kind", about="update "),
    )
    second = play(flood[0], start=turn(after, "2"))
    assert second.entries[-1] == Notice(5, 2, "unknown", title, "", {"n": 0}, "update new_thing")


def test_a_compaction_is_one_line_from_its_beginning_to_its_end() -> None:
    begun = play(CompactionUpdate("c", "in_progress"), say("a"))
    assert begun.entries[1] == Notice(1, 1, "info", "Compacting the context …", about="compaction c")
    done = play(
        CompactionChunk("c", "All "), CompactionChunk("c", "of it"), CompactionUpdate("c", "completed"), start=begun
    )
    assert done.entries[1:] == (
        Notice(1, 1, "info", "Context compacted", "All of it", about="compaction c"),
        Message(2, 1, "agent", GrowingText("a")),
    )
    assert reduce(done, CompactionUpdate("c", "completed")) is done


@pytest.mark.parametrize(
    ("update", "notice"),
    [
        (
            CompactionUpdate("c", "failed", None, "too long"),
            Notice(1, 1, "error", "Could not compact the context", "too long", about="compaction c"),
        ),
        (CompactionUpdate("c", "napping"), Notice(1, 1, "info", "Context compaction: napping", about="compaction c")),
        (CompactionChunk("c", "x"), Notice(1, 1, "info", "Compacting the context …", "x", about="compaction c")),
    ],
)
def test_a_compaction_may_end_in_any_way(update: Update, notice: Notice) -> None:
    assert play(update).entries[1:] == (notice,)


# -- the session's state -------------------------------------------------------------------------------------

URI = "https://agentclientprotocol.com/protocol/session-modes#"


def option(mode: str, model: str = "m1") -> tuple[dict[str, Any], ...]:
    return (
        {"id": "how", "category": "mode", "type": "select", "currentValue": mode, "options": [{"value": mode}]},
        {"id": "llm", "category": "model", "type": "select", "currentValue": model, "options": []},
    )


def with_state(state: SessionState | None, *, live: bool = True) -> Conversation:
    return replace(turn(), state=state, live=live)


def test_the_agents_state_is_kept() -> None:
    commands = (AvailableCommand("plan", "Make a plan"),)
    after = play(CommandsUpdate(commands), UsageUpdate(5, 10), InfoUpdate("Title", {"title": "Title"}))
    assert after == replace(turn(), commands=commands, usage=UsageUpdate(5, 10), title="Title")


@pytest.mark.parametrize(
    ("update", "title"),
    [
        (InfoUpdate(None, {"updatedAt": "2026-01-01"}), "old"),
        (InfoUpdate(None, {"title": None}), ""),
        (InfoUpdate("new"), "new"),
    ],
)
def test_an_absent_title_is_not_a_null_one(update: InfoUpdate, title: str) -> None:
    assert reduce(replace(turn(), title="old"), update).title == title


def test_a_change_of_mode_in_a_running_turn_is_shown_once() -> None:
    before = with_state(SessionState("s", URI + "agent", options=option(URI + "agent")))
    after = play(ModeUpdate(URI + "plan"), ConfigUpdate(option(URI + "plan")), start=before)
    assert after.entries[1:] == (Notice(1, 1, "info", "Mode: plan"),)
    assert after.state == SessionState("s", URI + "plan", (Mode(URI + "plan"),), "m1", option(URI + "plan"))


@pytest.mark.parametrize(
    "before",
    [
        with_state(SessionState("s", "plan")),
        with_state(SessionState("s", "ask"), live=False),
        with_state(SessionState("s")),
        with_state(None),
    ],
)
def test_no_change_of_mode_by_the_agent_is_nothing_to_tell(before: Conversation) -> None:
    after = reduce(before, ModeUpdate("plan"))
    assert (after.entries, after.state and after.state.mode) == (before.entries, "plan")


# -- what has to be drawn again ------------------------------------------------------------------------------


def test_only_what_changed_is_drawn_again() -> None:
    before = play(say("a"), ToolCallUpdate("t", begins=True), say("b"))
    after = reduce(before, ToolCallUpdate("t", status="in_progress"))
    assert changed(before, after) == [after.entries[2]]
    assert changed(after, reduce(after, say("c", "thought"))) == [Message(4, 1, "thought", GrowingText("c"))]
    assert changed(after, reduce(after, UsageUpdate(1, 2))) == []
    assert changed(Conversation(), before) == list(before.entries)


# -- cost ----------------------------------------------------------------------------------------------------


def grow(chunks: int, before: Conversation) -> None:
    update = say("x" * 100)
    for _ in range(chunks):
        after = reduce(before, update)
        assert len(changed(before, after)) == 1
        before = after


def test_an_answer_costs_as_much_as_it_is_long() -> None:
    """Copying the text so far would cost the square of it."""
    assert is_linear(lambda chunks: grow(chunks, turn()), 2_000)


def test_a_long_conversation_does_not_make_a_chunk_slow() -> None:
    """Entries cost a copy of their pointers, not a loop over them in Python."""
    long = {size: play(*(ToolCallUpdate(str(n), begins=True) for n in range(size))) for size in (125, 125 * FACTOR)}
    assert is_linear(lambda size: grow(1_000, long[size]), 125)


def test_a_replayed_prompt_is_what_the_person_wrote() -> None:
    prompt = 'Do it.\n<value name="x">\n1\n</value>\n[Copilot Kernel] This prompt was written in a cell.'
    after = play(Chunk("user", TextBlock(prompt)), start=Conversation())
    assert [str(each.text) for each in after.entries if isinstance(each, Message)] == ["Do it."]
