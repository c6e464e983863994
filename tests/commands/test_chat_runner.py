"""The task in which the chat lives, with chats that break in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Self

import pytest
from copilot_kernel.chat import TurnOutcome
from copilot_kernel.commands.chat_runner import ChatRunner

from ..limits import LIMIT, until

cell: ContextVar[str] = ContextVar("cell", default="none")


class StandIn:
    """A chat. Its turn is `turn`; `cell` is the context in which it was opened."""

    def __init__(self, turn: Callable[[StandIn], Awaitable[Any]]) -> None:
        self._turn = turn
        self.cancelled = asyncio.Event()
        self.broken = asyncio.Event()
        self.cell = ""

    async def __aenter__(self) -> Self:
        self.cell = cell.get()
        self._breaking = asyncio.create_task(self._break(asyncio.current_task()))
        return self

    async def _break(self, life: asyncio.Task[Any] | None) -> None:
        await self.broken.wait()
        life.cancel()

    async def __aexit__(self, *error: Any) -> None:
        self._breaking.cancel()
        if self.broken.is_set():
            raise ZeroDivisionError("broke")

    async def ask(self, blocks: Any, view: Any) -> Any:
        return await self._turn(self)

    def cancel(self, at: float | None = None) -> None:
        self.cancelled.set()


def home(*turns: Callable[[StandIn], Awaitable[Any]]) -> tuple[ChatRunner, list[StandIn]]:
    made: list[StandIn] = []

    def make() -> Any:
        made.append(StandIn(turns[len(made)]))
        return made[-1]

    return ChatRunner(make), made


def ended(reason: str) -> TurnOutcome:
    return TurnOutcome(1, reason, "", (), "session", "agent")


async def works(chat: StandIn) -> TurnOutcome:
    return ended("done")


async def waits(chat: StandIn) -> TurnOutcome:
    await chat.cancelled.wait()
    return ended("cancelled")


async def breaks(chat: StandIn) -> str:
    chat.broken.set()
    await asyncio.Event().wait()
    return "never"


async def begun(place: ChatRunner, made: list[StandIn]) -> asyncio.Task[Any]:
    """A turn that waits."""
    turn = asyncio.create_task(place.ask([], Any))
    await until(lambda: made)
    await asyncio.sleep(0)
    return turn


async def test_one_chat_serves_all_turns_and_knows_no_cell() -> None:
    place, made = home(works)
    cell.set("the first cell")
    answers = [await place.ask([], Any), await place.ask([], Any)]

    assert (answers, [chat.cell for chat in made]) == ([ended("done")] * 2, ["none"])


async def test_a_chat_that_breaks_raises_in_the_turn_and_the_next_turn_has_a_new_one() -> None:
    place, made = home(breaks, works)
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(place.ask([], Any), LIMIT)

    assert await place.ask([], Any) == ended("done")
    assert len(made) == 2


async def test_cancel_reaches_the_turn_and_says_so() -> None:
    place, made = home(waits)
    assert place.cancel() is False
    turn = await begun(place, made)
    await until(place.cancel)

    assert await asyncio.wait_for(turn, LIMIT) == ended("cancelled")
    assert place.cancel() is False


async def test_closing_ends_a_turn_that_waits() -> None:
    place, made = home(waits)
    turn = await begun(place, made)
    await asyncio.wait_for(place.close(), LIMIT)

    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_it_is_idle_when_the_turn_has_ended() -> None:
    place, made = home(waits)
    await asyncio.wait_for(place.idle(), LIMIT)
    turn = await begun(place, made)
    idle = asyncio.create_task(place.idle())
    await asyncio.sleep(0)
    assert not idle.done()
    await until(place.cancel)
    await asyncio.wait_for(idle, LIMIT)
    assert await asyncio.wait_for(turn, LIMIT) == ended("cancelled")
