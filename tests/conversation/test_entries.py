"""`Entries` are what a tuple of entries is, whichever value is read or changed, in whatever order."""

import pytest
from copilot_kernel.conversation.model import FINAL, Entries, Entry, Message, Notice, Plan, ToolCall
from copilot_kernel.conversation.text import GrowingText
from hypothesis import given, settings
from hypothesis import strategies as st

from ..limits import examples

NAMES = ["", "a", "b"]
# Which of the values so far, at which index (modulo its length and one more), a new entry or not, its kind and name.
steps = st.tuples(
    st.integers(0, 50) | st.just(-1), st.integers(0, 9), st.booleans(), st.sampled_from("mtpn"), st.sampled_from(NAMES)
)


def made(old: Entry | None, at: int, kind: str, name: str, final: bool) -> Entry:
    turn = old.turn if old else at // 3
    kinds = {Message: "m", ToolCall: "t", Plan: "p", Notice: "n"}
    match kinds[type(old)] if old else kind:
        case "m":
            return Message(at, turn, "agent", GrowingText(name))
        case "t":
            return ToolCall(at, turn, name, status="completed" if final else "pending")
        case "p":
            return Plan(at, turn, ())
    return Notice(at, turn, "info", "N", about=name)


def newest(model: tuple[Entry, ...], kind: type[Entry], attribute: str, name: str | int) -> Entry | None:
    found = (entry for entry in reversed(model) if isinstance(entry, kind) and getattr(entry, attribute) == name)
    return None if name == "" else next(found, None)


@given(st.lists(steps, max_size=25), st.integers(0, 25), st.integers(0, 25))
@settings(max_examples=examples(150), deadline=None)
def test_every_value_stays_what_it_was_and_knows_what_changed_since_any_other(
    sequence: list[tuple[int, int, bool, str, str]], one: int, other: int
) -> None:
    values: list[tuple[Entries, tuple[Entry, ...]]] = [(Entries(), ())]
    for which, index, final, kind, name in sequence:
        value, model = values[which % len(values)]
        at = index % (len(model) + 1)
        entry = made(model[at] if at < len(model) else None, at, kind, name, final)
        values.append((value.put(entry), (*model[:at], entry, *model[at + 1 :])))
    for value, model in values:
        assert (len(value), tuple(value), tuple(reversed(value)), value) == (len(model), model, model[::-1], model)
        assert [value[at] for at in range(-len(model), len(model))] == [*model, *model]
        assert (value[1:], value[-2:], value.last) == (model[1:], model[-2:], model[-1] if model else None)
        calls = [entry for entry in model if isinstance(entry, ToolCall)]
        assert value.unfinished() == [call for call in calls if call.status not in FINAL]
        for turn in range(4):
            assert value.of_turn(turn) == tuple(entry for entry in model if entry.turn == turn)
            assert value.find(Plan, turn) is newest(model, Plan, "turn", turn)
        for name in NAMES:
            assert value.find(ToolCall, name) is newest(model, ToolCall, "call_id", name)
            assert value.find(Notice, name) is newest(model, Notice, "about", name)
    (before, _), (after, _) = values[one % len(values)], values[other % len(values)]
    differ = [each for at, each in enumerate(after) if at >= len(before) or before[at] is not each]
    assert [id(each) for each in after.changed(before)] == [id(each) for each in differ]


@given(st.lists(steps, max_size=25), st.integers(0, 5), st.lists(steps, max_size=10))
@settings(max_examples=examples(100), deadline=None)
def test_without_old_turns_the_others_keep_their_indices(
    sequence: list[tuple[int, int, bool, str, str]], turn: int, more: list[tuple[int, int, bool, str, str]]
) -> None:
    value, model = Entries(), list[Entry]()
    for _, index, final, kind, name in sequence:
        at = index % (len(model) + 1)
        model[at : at + 1] = [made(model[at] if at < len(model) else None, at, kind, name, final)]
        value = value.put(model[at])
    first = next((entry.id for entry in model if entry.turn >= turn), len(model))
    whole, value = value, value.since_turn(turn)
    assert (value.first, len(value), [*value], value.changed(whole)) == (first, len(model), model[first:], [])
    for _, index, final, kind, name in more:
        at = first + index % (len(model) + 1 - first)
        model[at : at + 1] = [made(model[at] if at < len(model) else None, at, kind, name, final)]
        value = value.put(model[at])
    kept = model[first:]
    assert ([*value], [value[at] for at in range(first, len(model))]) == (kept, kept)
    assert (value[:], value[first + 1 :], value[-2:]) == (tuple(kept), tuple(kept[1:]), tuple(kept[-2:]))
    assert value.find(ToolCall, "a") is newest(tuple(kept), ToolCall, "call_id", "a")
    assert value.of_turn(turn) == tuple(entry for entry in kept if entry.turn == turn)
    calls = [entry for entry in kept if isinstance(entry, ToolCall)]
    assert value.unfinished() == [call for call in calls if call.status not in FINAL]
    if first:
        with pytest.raises(IndexError):
            value[first - 1]


def test_an_old_value_that_many_have_followed_can_be_read_and_forgotten() -> None:
    first = value = Entries().put(Message(0, 1, "agent", GrowingText("first")))
    for number in range(100_000):
        value = value.put(Message(0, 1, "agent", GrowingText(str(number))))
    assert [str(entry.text) for entry in (*first, *value) if isinstance(entry, Message)] == ["first", "99999"]
    assert len(value.changed(first)) == 1
    del first
    assert len(value) == 1
