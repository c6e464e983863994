"""A JSON-RPC connection in memory: requests of both sides, its end, pressure, and the log of its lines."""

import logging

import anyio
import pytest
from copilot_kernel.acp.connection import MAX_OPEN, RpcConnection, WireLog
from copilot_kernel.errors import AgentExited

from ..limits import until
from .memory import memory_pair
from .rawlines import Raw, connected, failure, notification, request, result

# -- our requests -------------------------------------------------------------------------------------------------


async def test_an_answer_comes_back_in_its_place_between_the_notifications():
    async with connected() as (connection, raw, record), anyio.create_task_group() as tasks:
        events = record.events

        async def ask():
            events.append(await connection.request("m", {"a": 1}, answered=lambda: events.append("answered")))

        tasks.start_soon(ask)
        assert await raw.hear() == request(0, "m", {"a": 1})
        await raw.say(notification("n", [1]), result("0", {"b": 2}), notification("n", [2]))
        await until(lambda: len(events) == 4)
        assert events == [("n", [1]), "answered", {"b": 2}, ("n", [2])]


async def test_cancelling_a_request_notifies_the_other_side_and_its_late_answer_is_no_surprise():
    async with connected() as (connection, raw, record):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(connection.request, "m", {})
                assert await raw.hear() == request(0, "m")
                scope.cancel()
        assert await raw.hear() == notification("$/cancel_request", {"requestId": 0})
        await raw.say(failure(0, -32800, "cancelled"), notification("n"))
        await until(lambda: record.events)
        assert record.diagnostics == []


# -- their requests -----------------------------------------------------------------------------------------------


async def test_requests_are_taken_in_order_and_answered_when_they_are_ready():
    async with connected() as (_, raw, record):
        await raw.say(
            notification("n", [1]), request(0, "waits"), notification("n", [2]), request("0", "echo", {"a": 1})
        )
        assert await raw.hear() == result("0", {"echo": {"a": 1}})
        assert record.events == [("n", [1]), ("waits", {}), ("n", [2]), ("echo", {"a": 1})]
        record.go_on.set()
        assert await raw.hear() == result(0, {"echo": {}})


INTERNAL = failure(0, -32603, "Internal error")
ANSWERS = [
    ("unknown", failure(0, -32601, "Method not found: unknown")),
    ("refuses", failure(0, -32602, "no such thing", data={"name": "x"})),
    *((method, INTERNAL) for method in ("fails", "fails at once", "no json", "no json in the refusal")),
]


@pytest.mark.parametrize(("method", "answer"), ANSWERS)
async def test_a_request_that_fails_gets_one_error_and_the_connection_goes_on(method, answer, caplog):
    caplog.set_level(logging.CRITICAL)
    async with connected() as (_, raw, _record):
        await raw.say(request(0, method), request(1, "echo"))
        assert sorted([await raw.hear(), await raw.hear()], key=lambda m: m["id"]) == [answer, result(1, {"echo": {}})]


@pytest.mark.parametrize("params", [{"requestId": "7"}, {"requestId": [7]}, [7], {"requestId": True}])
async def test_only_the_withdrawn_request_is_cancelled_and_answered_once(params):
    async with connected() as (_, raw, record):
        await raw.say(request(7, "waits"), request(1, "waits"), notification("$/cancel_request", params))
        await raw.say(notification("$/cancel_request", {"requestId": 7}))
        assert await raw.hear() == failure(7, -32800, "Request cancelled")
        record.go_on.set()
        assert await raw.hear() == result(1, {"echo": {}})
        await raw.say(request(8, "echo"))
        assert await raw.hear() == result(8, {"echo": {}})


async def test_a_notification_goes_before_the_answer_that_it_led_to():
    near, far = memory_pair(16)
    raw = Raw(far)

    async def answer():
        connection.post("news", {})
        return {}

    async with RpcConnection(near, on_notification=print, on_request=lambda *_: answer()) as connection:
        await raw.say({"jsonrpc": "2.0", "id": 0, "method": "ask", "params": {}})
        assert [(await raw.hear()).get("method"), (await raw.hear()).get("id")] == ["news", 0]
        await far.close()


# -- what cannot be used ------------------------------------------------------------------------------------------


async def test_what_cannot_be_used_is_reported_and_the_connection_goes_on(caplog):
    caplog.set_level(logging.CRITICAL)
    async with connected() as (connection, raw, record):
        await raw.transport.send(b'Starting...\n[{"method":"n"}]\n42\n')
        await raw.say(result(99, "what?"), notification("fails"), {"id": None, "error": {"code": -32700}})
        await raw.say(request(0, "echo"))
        assert await raw.hear() == result(0, {"echo": {}})
        assert record.diagnostics == [
            "not JSON (11 bytes): Starting...",
            'a batch (16 bytes): [{"method":"n"}]',
            "not a JSON object (2 bytes): 42",
            "an answer with the id 99, which no request of ours has",
            "handling fails failed: ValueError('our own mistake')",
            "an answer with the id None, which no request of ours has",
        ]
        assert connection.log.lines[0] == ("<", b"Starting...")


# -- the end ------------------------------------------------------------------------------------------------------


async def test_at_the_end_every_waiting_request_fails_and_every_handler_is_cancelled():
    async with connected(exited=lambda: AgentExited("gone", stderr="last words")) as (connection, raw, record):
        ends = []

        async def ask():
            with pytest.raises(AgentExited) as caught:
                await connection.request("m", {})
            ends.append((str(caught.value), caught.value.stderr))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
            for _ in range(3):
                await raw.hear()
            await raw.say(request(0, "waits"), notification("last"))
            await raw.transport.close()
        assert ends == [("gone", "last words")] * 3
        assert record.events == [("waits", {}), ("last", {})]
        assert connection.closed.is_set()
        with pytest.raises(AgentExited):
            await connection.request("m", {})
        with pytest.raises(AgentExited):
            await connection.notify("n", {})
        connection.post("n", {})


# -- under pressure -------------------------------------------------------------------------------------------------


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
            await until(lambda: len(record.events) >= MAX_OPEN // 2)
            for _ in range(1000):
                await anyio.sleep(0)
            tasks.cancel_scope.cancel()
        assert MAX_OPEN // 2 <= len(record.events) <= MAX_OPEN // 2 + 10
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
        assert answer == failure(MAX_OPEN, -32603, f"More than {MAX_OPEN} requests are open")
        assert len(record.events) == MAX_OPEN


async def test_a_flood_leaves_turns_to_others():
    async with connected() as (_, raw, record):
        await raw.say(*[notification("session/update", {"text": "x" * 120})] * 20_000)
        seen = set()
        while len(record.events) < 20_000:
            seen.add(len(record.events))
            await anyio.lowlevel.checkpoint()
    assert len(seen) > 5


# -- the wire log ---------------------------------------------------------------------------------------------------


def test_the_log_keeps_the_last_lines_within_its_bounds():
    log = WireLog(max_lines=3, max_bytes=10)
    counts = [log.count]
    for line in (b"1", b"22", b"333", b"4444"):
        log.add("<", line)
        counts.append(log.count)
    assert list(log.lines) == [("<", b"22"), ("<", b"333"), ("<", b"4444")]
    assert [len(log.since(count)) for count in counts] == [3, 3, 2, 1, 0]
    assert log.since(counts[-2]) == [("<", b"4444")]
    log.add(">", b"x" * 9)
    assert list(log.lines) == [(">", b"x" * 9)]
    log.add(">", b"y" * 50)
    assert list(log.lines) == [(">", b"y" * 10)]
