"""What a connection survives, and what its end means to everyone who waits."""

import logging

import anyio
import pytest
from copilot_kernel.acp.connection import Connection
from copilot_kernel.acp.transport import memory_pair
from copilot_kernel.errors import AgentExited

from .rawlines import ConversationState, Raw, connected, notification, request, result

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]


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
    record = ConversationState()

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
