"""First come, first through."""

from __future__ import annotations

import anyio
import pytest
from copilot_kernel.chat.turnstile import GateTicket, OrderedGate

from .people import LIMIT

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


async def test_who_gives_up_holds_up_nobody() -> None:
    turnstile = OrderedGate()
    first, second, third = (turnstile.ticket() for _ in range(3))
    passed: list[str] = []

    async def go(ticket: GateTicket, name: str) -> None:
        await ticket.wait()
        passed.append(name)

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(go, third, "third")
            tasks.start_soon(go, first, "first")
            await anyio.wait_all_tasks_blocked()
            assert passed == ["first"]
            with second:
                pass
    assert passed == ["first", "third"]
