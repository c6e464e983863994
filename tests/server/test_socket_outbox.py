"""What waits for a slow socket: short, in order, bounded."""

from __future__ import annotations

import asyncio

import pytest
from copilot_kernel.server.outbox import MOST_MESSAGES, Outbox, newest
from copilot_kernel.server.wire import Delta, Done, Drawn, Event, Message
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio


async def taken(box: Outbox) -> list[Message]:
    found = []
    while len(box):
        message = await box.next()
        assert message is not None
        found.append(message)
    return found


def filled(*messages: Message, most: int = 10**6) -> Outbox:
    box = Outbox(most)
    for message in messages:
        box.put(message)
    return box


async def test_deltas_in_a_row_are_one() -> None:
    box = filled(Delta("a"), Delta("b"), Done("x"), Delta("c"), Delta("d"))
    assert await taken(box) == [Delta("ab"), Done("x"), Delta("cd")]


async def test_what_was_taken_does_not_grow_any_more() -> None:
    box = filled(Delta("a"))
    assert await box.next() == Delta("a")
    box.put(Delta("b"))
    assert await taken(box) == [Delta("b")]


async def test_thoughts_of_one_entry_are_one() -> None:
    thoughts = [Event("thought", {"content": text, "entry": entry}) for text, entry in (("a", 1), ("b", 1), ("c", 2))]
    assert await taken(filled(*thoughts)) == [Event("thought", {"content": "ab", "entry": 1}), thoughts[2]]


async def test_only_the_newest_picture_of_a_piece_waits() -> None:
    old, other, new = Drawn(1, 0, "message", "old"), Drawn(1, 1, "message", "other"), Drawn(1, 0, "message", "new")
    assert await taken(filled(old, other, new)) == [new, other]


async def test_too_much_is_given_up_and_says_so() -> None:
    box = filled(Delta("x" * 500), Done("x"), Delta("y" * 500), most=1000)
    assert box.full
    assert len(box) == 0
    assert await box.next() is None


async def test_too_many_small_ones_are_too_much_too() -> None:
    assert filled(*[Event("notice", {})] * MOST_MESSAGES, most=10**9).full is False
    assert filled(*[Event("notice", {})] * (MOST_MESSAGES + 1), most=10**9).full is True


async def test_a_reader_that_keeps_up_never_fills_it() -> None:
    box = Outbox(5000)
    for number in range(1000):
        box.put(Delta("x" * 100))
        box.put(Drawn(number % 3, 0, "tool", "y" * 100))
        await taken(box)
    assert not box.full


async def test_next_waits_for_the_first() -> None:
    box = Outbox()
    waiting = asyncio.create_task(box.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    box.put(Done("end_turn"))
    assert await asyncio.wait_for(waiting, 5) == Done("end_turn")


async def test_who_joins_gets_the_newest_that_fit() -> None:
    messages: list[Message] = [Delta(str(number) * 300) for number in range(9)]
    assert newest(messages, most=1600) == messages[-3:]
    assert newest(messages) == messages


@given(st.lists(st.one_of(st.text(min_size=1, max_size=5).map(Delta), st.just(Done("x")), st.just(None))))
def test_no_text_is_lost_and_none_changes_its_place(steps: list[Message | None]) -> None:
    async def run() -> list[Message]:
        box, found = Outbox(), []
        for step in steps:
            if step is not None:
                box.put(step)
            elif len(box):
                found.append(await box.next())
        return [*found, *await taken(box)]  # type: ignore[list-item]

    def flat(messages: list[Message | None]) -> str:
        return "".join(each.content if isinstance(each, Delta) else "|" for each in messages if each is not None)

    assert flat(list(asyncio.run(run()))) == flat(steps)
