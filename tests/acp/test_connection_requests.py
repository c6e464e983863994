"""The requests of either side over a connection whose other end is raw lines in memory."""

import logging

import anyio
import pytest
from copilot_kernel.acp.connection import Connection
from copilot_kernel.acp.transport import memory_pair
from copilot_kernel.errors import AgentRefused

from .rawlines import ConversationState, Raw, connected, failure, notification, request, result, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]


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
    one, two = ConversationState(), ConversationState()
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
