"""What waits for a slow socket: short, in order, bounded."""

import asyncio

import pytest
from copilot_kernel.server.chat.outbox import MAX_MESSAGES, Outbox, newest
from copilot_kernel.server.chat.wire import Delta, Done, EntryHtml, Event, Message
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


def filled(*messages: Message, max_chars: int = 10**6) -> Outbox:
    box = Outbox(max_chars)
    for message in messages:
        box.put(message)
    return box


async def test_what_waits_is_joined_or_replaced_by_what_is_newer() -> None:
    box = filled(Delta("a"), Delta("b"), Done("x"), Delta("c"), Delta("d"))
    assert await taken(box) == [Delta("ab"), Done("x"), Delta("cd")]
    thoughts = [Event("thought", {"content": text, "entry": entry}) for text, entry in (("a", 1), ("b", 1), ("c", 2))]
    assert await taken(filled(*thoughts)) == [Event("thought", {"content": "ab", "entry": 1}), thoughts[2]]
    old, other, new = (EntryHtml(1, piece, "message", html) for piece, html in ((0, "old"), (1, "other"), (0, "new")))
    assert await taken(filled(old, other, new)) == [new, other]


async def test_next_waits_for_the_first_which_does_not_grow_any_more() -> None:
    box = Outbox()
    waiting = asyncio.create_task(box.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    box.put(Delta("a"))
    assert await asyncio.wait_for(waiting, 5) == Delta("a")
    box.put(Delta("b"))
    assert await taken(box) == [Delta("b")]


async def test_too_much_and_too_many_are_given_up_and_it_says_so() -> None:
    box = filled(Delta("x" * 500), Done("x"), Delta("y" * 500), max_chars=1000)
    assert (box.overflowed, len(box), await box.next()) == (True, 0, None)
    notices = [Event("notice", {})] * (MAX_MESSAGES + 1)
    found = [filled(*notices[:count], max_chars=10**9).overflowed for count in (MAX_MESSAGES, MAX_MESSAGES + 1)]
    assert found == [False, True]


async def test_a_reader_that_keeps_up_never_fills_it() -> None:
    box = Outbox(5000)
    for number in range(1000):
        box.put(Delta("x" * 100))
        box.put(EntryHtml(number % 3, 0, "tool", "y" * 100))
        await taken(box)
    assert not box.overflowed


async def test_who_joins_gets_the_newest_that_fit() -> None:
    messages: list[Message] = [Delta(str(number) * 300) for number in range(9)]
    assert newest(messages, max_chars=1600) == messages[-3:]
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
