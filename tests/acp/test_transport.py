"""Bytes over file descriptors: whole, in order, and with an end."""

import os
from contextlib import asynccontextmanager

import anyio
import pytest
from copilot_kernel.acp.transport import PipeTransport, single_error
from copilot_kernel.errors import AgentExited

from ..limits import LIMIT


@asynccontextmanager
async def connected():
    (here, from_there), (there, from_here) = os.pipe(), os.pipe()
    left, right = PipeTransport(here, from_here), PipeTransport(there, from_there)
    try:
        yield left, right
    finally:
        await left.close()
        await right.close()


async def read(transport, length):
    data = b""
    with anyio.fail_after(LIMIT):
        while len(data) < length and (piece := await transport.receive()):
            data += piece
    return data


async def test_closing_one_end_ends_the_other():
    async with connected() as (left, right):
        await left.send(b"last")
        await left.close()
        assert [await right.receive(), await right.receive(), await right.receive()] == [b"last", b"", b""]
        with pytest.raises(AgentExited):
            await right.send(b"into the void")
        await left.close()
        assert await left.receive() == b""
        with pytest.raises(AgentExited):
            await left.send(b"x")


async def test_much_more_than_a_pipe_holds_goes_through_while_it_is_read():
    async with connected() as (left, right), anyio.create_task_group() as tasks:
        data = bytes(range(256)) * 20_000
        tasks.start_soon(left.send, data)
        assert await read(right, len(data)) == data


async def test_a_cancelled_send_does_not_cut_a_message():
    async with connected() as (left, right), anyio.create_task_group() as tasks:
        first, second = b"a" * 300_000 + b"\n", b"b" * 10 + b"\n"
        with anyio.move_on_after(0.05) as scope:
            await left.send(first)
        assert scope.cancelled_caught
        tasks.start_soon(left.send, second)
        assert await read(right, len(first) + len(second)) == first + second


async def test_a_single_error_leaves_its_group_and_several_stay_together():
    one, two = ValueError("one"), KeyError("two")
    with pytest.raises(ValueError, match="one") as caught, single_error():
        raise ExceptionGroup("", [one])
    assert caught.value is one
    with pytest.raises(ExceptionGroup) as group, single_error():
        raise ExceptionGroup("", [one, two])
    assert group.value.exceptions == (one, two)
