"""One end is the connection, the other end is raw lines in memory."""

import gc
import json
import logging
import time
from contextlib import asynccontextmanager

import anyio
import pytest
from copilot_kernel.acp.connection import MAX_OPEN, Connection
from copilot_kernel.acp.jsonrpc import RequestFailed, method_not_found
from copilot_kernel.acp.transport import memory_pair
from copilot_kernel.errors import AgentExited, AgentRefused

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]


class Raw:
    """The other end: says and hears single messages."""

    def __init__(self, transport):
        self.transport = transport
        self._lines = []

    async def say(self, *messages):
        await self.transport.send(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    async def hear(self):
        with anyio.fail_after(5):
            while not self._lines:
                self._lines += (await self.transport.receive()).splitlines()
        return json.loads(self._lines.pop(0))


class Record:
    """A connection's handlers, which keep everything that they get, in order."""

    def __init__(self):
        self.events = []
        self.diagnostics = []
        self.go_on = anyio.Event()

    def notice(self, method, params):
        self.events.append((method, params))
        if method == "fails":
            raise ValueError("our own mistake")

    def serve(self, method, params):
        self.events.append((method, params))
        if method == "unknown":
            raise method_not_found(method)
        if method == "fails at once":
            raise ValueError("secret words")
        return self.answer(method, params)

    async def answer(self, method, params):
        match method:
            case "waits":
                await self.go_on.wait()
            case "fails":
                raise ValueError("secret words")
            case "refuses":
                raise RequestFailed(-32602, "no such thing", {"name": "x"})
            case "no json":
                return {"set": {1}}
            case "no json in the refusal":
                raise RequestFailed(-32602, "no", {1})
        return {"echo": params}


@asynccontextmanager
async def connected(pieces=16, **more):
    near, far = memory_pair(pieces)
    record = Record()
    try:
        async with Connection(
            near,
            on_notification=record.notice,
            on_request=record.serve,
            on_diagnostic=record.diagnostics.append,
            **more,
        ) as connection:
            yield connection, Raw(far), record
    finally:
        await far.close()


async def until(condition):
    with anyio.fail_after(5):
        while not condition():
            await anyio.lowlevel.checkpoint()


def request(id, method, params=None):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


def result(id, value):
    return {"jsonrpc": "2.0", "id": id, "result": value}


def failure(id, code, message, **more):
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def notification(method, params=None):
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


# -- our requests -------------------------------------------------------------------------------------------------


async def test_a_request_goes_out_and_its_answer_comes_back():
    async with connected() as (connection, raw, _), anyio.create_task_group() as tasks:
        answers = []

        async def ask():
            answers.append(await connection.request("m", {"a": 1}))

        tasks.start_soon(ask)
        assert await raw.hear() == request(0, "m", {"a": 1})
        await raw.say(result("0", {"b": 2}))
        await until(lambda: answers == [{"b": 2}])


async def test_an_answer_is_taken_in_its_place_between_the_notifications():
    async with connected() as (connection, raw, record), anyio.create_task_group() as tasks:

        async def ask():
            record.events.append(await connection.request("m", {}))

        tasks.start_soon(ask)
        await raw.hear()
        await raw.say(notification("n", [1]), notification("n", [2]), result(0, "answer"), notification("n", [3]))
        await until(lambda: len(record.events) == 4)
        assert record.events == [("n", [1]), ("n", [2]), "answer", ("n", [3])]


async def test_whoever_wants_to_know_of_the_answer_is_told_before_what_follows():
    async with connected() as (connection, raw, record), anyio.create_task_group() as tasks:

        async def ask():
            await connection.request("m", {}, answered=lambda: record.events.append("answered"))

        tasks.start_soon(ask)
        await raw.hear()
        await raw.say(notification("n", [1]), result(0, None), notification("n", [2]))
        await until(lambda: len(record.events) == 3)
        assert record.events == [("n", [1]), "answered", ("n", [2])]


async def test_an_error_answer_is_raised():
    async with connected() as (connection, raw, _):
        await raw.say(failure(0, -32002, "no such file", data={"path": "/a"}))
        with pytest.raises(AgentRefused) as caught:
            await connection.request("m", {})
        assert (caught.value.method, caught.value.code, caught.value.data) == ("m", -32002, {"path": "/a"})


async def test_cancelling_a_request_tells_the_other_side_and_its_late_answer_is_no_surprise():
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


async def test_cancelling_a_request_can_be_left_to_the_caller():
    async with connected() as (connection, raw, _):
        with anyio.move_on_after(0):
            await connection.request("m", {}, cancel=False)
        await connection.notify("n", {})
        heard = [await raw.hear()]
        if heard == [request(0, "m")]:
            heard = [await raw.hear()]
        assert heard == [notification("n")]


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


ANSWERS = [
    ("unknown", failure(0, -32601, "Method not found: unknown")),
    ("refuses", failure(0, -32602, "no such thing", data={"name": "x"})),
    ("fails", failure(0, -32603, "Internal error")),
    ("fails at once", failure(0, -32603, "Internal error")),
    ("no json", failure(0, -32603, "Internal error")),
    ("no json in the refusal", failure(0, -32603, "Internal error")),
]


@pytest.mark.parametrize(("method", "answer"), ANSWERS)
async def test_a_request_that_fails_gets_one_error_and_the_connection_goes_on(method, answer, caplog):
    caplog.set_level(logging.CRITICAL)
    async with connected() as (_, raw, _record):
        await raw.say(request(0, method), request(1, "echo"))
        assert sorted([await raw.hear(), await raw.hear()], key=lambda m: m["id"]) == [answer, result(1, {"echo": {}})]


async def test_a_withdrawn_request_is_answered_once_as_cancelled():
    async with connected() as (_, raw, record):
        await raw.say(request(7, "waits"), notification("$/cancel_request", {"requestId": 7}))
        assert await raw.hear() == failure(7, -32800, "Request cancelled")
        record.go_on.set()
        await raw.say(request(8, "echo"))
        assert await raw.hear() == result(8, {"echo": {}})


@pytest.mark.parametrize(
    "params", [{"requestId": "7"}, {"requestId": 8}, {"requestId": [7]}, {}, [7], "7", {"requestId": True}]
)
async def test_withdrawing_something_else_changes_nothing(params):
    async with connected() as (_, raw, record):
        await raw.say(request(7, "waits"), request(1, "waits"), notification("$/cancel_request", params))
        record.go_on.set()
        assert [await raw.hear(), await raw.hear()] == [result(7, {"echo": {}}), result(1, {"echo": {}})]


async def test_two_requests_with_the_same_id_get_two_answers():
    async with connected() as (_, raw, record):
        await raw.say(request(0, "waits"), request(0, "echo"))
        assert await raw.hear() == result(0, {"echo": {}})
        record.go_on.set()
        assert await raw.hear() == result(0, {"echo": {}})


async def test_both_sides_may_use_the_same_ids():
    near, far = memory_pair()
    one, two = Record(), Record()
    async with (
        Connection(near, on_notification=one.notice, on_request=one.serve) as left,
        Connection(far, on_notification=two.notice, on_request=two.serve) as right,
    ):
        for n in range(3):
            assert await left.request("echo", {"n": n}) == {"echo": {"n": n}}
            assert await right.request("echo", {"n": n}) == {"echo": {"n": n}}


async def test_leaving_while_requests_are_open_awaits_every_handler():
    async with connected() as (_, raw, record):
        await raw.say(request(0, "waits"))
        await until(lambda: record.events)
    async with connected() as (_, raw, record):
        await raw.say(*(request(n, "waits") for n in range(50)))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await until(lambda: False)


# -- what cannot be used ------------------------------------------------------------------------------------------


async def test_what_cannot_be_used_is_reported_and_the_connection_goes_on(caplog):
    caplog.set_level(logging.CRITICAL)
    async with connected() as (connection, raw, record):
        await raw.transport.send(b'Starting...\n[{"method":"n"}]\n42\n')
        await raw.say(result(99, "what?"), notification("fails"), {"id": None, "error": {"code": -32700}})
        await raw.say(request(0, "echo"))
        assert await raw.hear() == result(0, {"echo": {}})
        assert record.diagnostics == [
            "no JSON (11 bytes): Starting...",
            'a batch (16 bytes): [{"method":"n"}]',
            "no JSON object (2 bytes): 42",
            "an answer to no request of ours, with the id 99",
            "handling fails failed: ValueError('our own mistake')",
            "an answer to no request of ours, with the id None",
        ]
        assert connection.log.lines[0] == ("<", b"Starting...")


async def test_a_report_that_fails_ends_nothing(caplog):
    caplog.set_level(logging.CRITICAL)
    near, far = memory_pair()
    record = Record()

    def refuse(text):
        raise ValueError(text)

    async with Connection(near, on_notification=record.notice, on_request=record.serve, on_diagnostic=refuse):
        raw = Raw(far)
        await raw.transport.send(b"noise\n")
        await raw.say(request(0, "echo"))
        assert await raw.hear() == result(0, {"echo": {}})
    await far.close()


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


async def test_an_error_of_the_body_comes_out_as_it_was():
    error = ValueError("from the body")
    with pytest.raises(ValueError, match="from the body") as caught:
        async with connected():
            raise error
    assert caught.value is error


# -- pressure -----------------------------------------------------------------------------------------------------


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
        with anyio.move_on_after(1):
            for n in range(10 * MAX_OPEN):
                await raw.say(request(n, "unknown"))
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
        Connection(near, on_notification=notice, on_request=Record().serve),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(watch)
        for _ in range(1_000):
            await far.send(line * 100)
        await until(lambda: count == 100_000)
        tasks.cancel_scope.cancel()
    await far.close()
    assert max(lags) < 0.02


async def test_a_notification_goes_before_the_answer_that_it_led_to():
    near, far = memory_pair(16)
    raw = Raw(far)

    async def answer():
        connection.post("told", {})
        return {}

    async with Connection(near, on_notification=print, on_request=lambda *_: answer()) as connection:
        await raw.say({"jsonrpc": "2.0", "id": 0, "method": "ask", "params": {}})
        assert [(await raw.hear()).get("method"), (await raw.hear()).get("id")] == ["told", 0]
        await far.close()
