"""The same lines over a socket, against a listener on loopback."""

import socket
import struct
from contextlib import suppress

import anyio
import pytest
from copilot_kernel.acp.tcp import agent_at
from copilot_kernel.acp.transport import PipeTransport
from copilot_kernel.errors import AgentExited, AgentNotFound

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(20)]


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        yield server


def port(server):
    return server.getsockname()[1]


async def read(transport, length):
    data = b""
    with anyio.fail_after(5):
        while len(data) < length and (piece := await transport.receive()):
            data += piece
    return data


async def test_bytes_go_both_ways_and_long_ones_too(listener):
    async with agent_at("127.0.0.1", port(listener)) as agent, anyio.create_task_group() as tasks:
        far = PipeTransport(*(2 * [listener.accept()[0].detach()]))
        long = b"x" * 4_000_000 + b"\n"
        tasks.start_soon(agent.send, long)
        assert await read(far, len(long)) == long
        tasks.start_soon(far.send, long)
        assert await read(agent, len(long)) == long
        far.close_writing()


async def test_the_other_side_may_end_it(listener):
    async with agent_at("127.0.0.1", port(listener)) as agent:
        client, _ = listener.accept()
        client.sendall(b"last")
        client.close()
        with anyio.fail_after(5):
            assert [await agent.receive(), await agent.receive()] == [b"last", b""]
        assert (agent.ending(), agent.last_words()) == ("it closed the connection", "")


async def test_a_reset_is_an_end_and_writing_then_says_so(listener):
    async with agent_at("127.0.0.1", port(listener)) as agent:
        client, _ = listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        with anyio.fail_after(5):
            assert await agent.receive() == b""
            with pytest.raises(AgentExited):
                await agent.send(b"x")


async def test_leaving_closes_the_connection_even_when_nobody_reads(listener):
    async with agent_at("127.0.0.1", port(listener)) as agent:
        client, _ = listener.accept()
        with anyio.move_on_after(0.05):
            await agent.send(b"x" * 50_000_000)
        await agent.close()
        assert await agent.receive() == b""
    with client:
        client.settimeout(5)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        with suppress(ConnectionResetError):
            while client.recv(1 << 20):
                pass


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_where_nobody_listens_the_error_says_what_to_start(listener, host):
    number = port(listener)
    listener.close()
    with pytest.raises(AgentNotFound) as caught:
        async with agent_at(host, number):
            pass
    assert str(caught.value) == f"No agent answers at {host}:{number} (Connection refused)"
    assert caught.value.hint == f"Start the agent first, for example: copilot --acp --port {number}"


async def test_what_can_be_no_host_name_is_no_agent():
    with pytest.raises(AgentNotFound):
        async with agent_at("x" * 70, 1):
            pass
