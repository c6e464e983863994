"""A connection under pressure: blocked writes, askers without end, and floods."""

import gc
import json
import time

import anyio
import pytest
from copilot_kernel.acp.connection import MAX_OPEN, Connection
from copilot_kernel.acp.transport import memory_pair

from .rawlines import ConversationState, connected, failure, notification, request, result, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]


async def test_a_blocked_write_blocks_neither_the_reader_nor_the_next_answer():
    async with connected(pieces=1) as (connection, raw, record), anyio.create_task_group() as tasks:
        for n in range(4):
            tasks.start_soon(connection.notify, "big", {"n": n})
        answers = []

        async def ask():
            answers.append(await connection.request("m", {}, cancel=False))

        tasks.start_soon(ask)
        await raw.say(notification("n"), request(0, "echo"))
        await raw.say(result(0, "answer"))
        await until(lambda: answers == ["answer"])
        connection.post("session/cancel", {})
        assert record.events == [("n", {}), ("echo", {})]
        heard = [await raw.hear() for _ in range(7)]
        assert heard == [
            *(notification("big", {"n": n}) for n in range(4)),
            request(0, "m"),
            result(0, {"echo": {}}),
            notification("session/cancel"),
        ]


async def test_one_who_asks_without_end_and_reads_no_answer_is_not_read_for_ever():
    async with connected(pieces=1) as (_, raw, record):

        async def ask_without_end():
            for n in range(10 * MAX_OPEN):
                await raw.say(request(n, "unknown"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_without_end)
            with anyio.fail_after(60):
                while len(record.events) < MAX_OPEN:
                    await anyio.sleep(0)
            for _ in range(1000):
                await anyio.sleep(0)
            tasks.cancel_scope.cancel()
        assert MAX_OPEN <= len(record.events) <= MAX_OPEN + 10
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.say, request("last", "unknown"))
            answers = [await raw.hear()]
            while answers[-1]["id"] != "last":
                answers.append(await raw.hear())
        ids = [*range(len(answers) - 1), "last"]
        assert answers == [failure(id, -32601, "Method not found: unknown") for id in ids]


async def test_too_many_open_requests_are_refused():
    async with connected() as (_, raw, record):
        await raw.say(*(request(n, "waits") for n in range(MAX_OPEN + 1)))
        answer = await raw.hear()
        assert answer == failure(MAX_OPEN, -32603, f"More than {MAX_OPEN} requests wait for an answer")
        assert len(record.events) == MAX_OPEN


@pytest.fixture
def small_heap():
    """A collection of what other tests left behind would count as ours."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("small_heap")
async def test_the_loop_stays_alive_in_a_flood():
    """In processor time, so that a busy machine makes no difference."""
    line = json.dumps(notification("session/update", {"text": "x" * 120})).encode() + b"\n"
    near, far = memory_pair()
    count, lags = 0, []

    def notice(method, params):
        nonlocal count
        count += 1

    async def watch():
        while True:
            began = time.process_time()
            await anyio.sleep(0.001)
            lags.append(time.process_time() - began)

    async with (
        Connection(near, on_notification=notice, on_request=ConversationState().serve),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(watch)
        for _ in range(1_000):
            await far.send(line * 100)
        await until(lambda: count == 100_000)
        tasks.cancel_scope.cancel()
    await far.close()
    assert max(lags) < 0.02
