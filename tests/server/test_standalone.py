"""A server of its own: what Jupyter's own does not do for us."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.standalone import StandaloneServer
from tornado.ioloop import IOLoop
from tornado.web import Application

from .api import LIMIT, until


@asynccontextmanager
async def alone(**settings: float) -> AsyncIterator[StandaloneServer]:
    """One that serves nothing, on a free port."""
    server = StandaloneServer(port=0)
    server._starter_app = CopilotApp(**settings)
    server.web_app, server.ssl_options = Application(), None  # as `init_webapp` leaves them
    server.io_loop = IOLoop.current()
    server.init_httpserver()
    await until(lambda: bool(server.http_server._sockets))
    try:
        yield server
    finally:
        server.http_server.stop()
        await server.http_server.close_all_connections()


@pytest.mark.parametrize(("head", "seconds"), [
    ("", 0.3), ("GET /health HTTP/1.1\r\nHost: 127.0", 0.3), ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 3.0)
])  # fmt: skip
async def test_a_head_that_does_not_come_does_not_hold_the_connection(head: str, seconds: float) -> None:
    """Nor does the next one, which never comes after an answer: one that does come must come in that time, too."""
    async with alone(header_seconds=seconds) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head.encode())
        async with asyncio.timeout(LIMIT):
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 404") if head.endswith("\r\n\r\n") else answer == b""
        writer.close()


async def test_only_this_machine_can_reach_it_and_has_a_minute() -> None:
    async with alone() as server:
        places = {each.getsockname()[0] for each in server.http_server._sockets.values()}
        assert server.http_server.conn_params.header_timeout == 60
    assert places
    assert places <= {"127.0.0.1", "::1"}


def test_its_port_is_8080_or_none() -> None:
    app = CopilotApp()
    app.serverapp = StandaloneServer()
    own = app._jupyter_server_config()["ServerApp"]
    assert (own["port"], own["port_retries"]) == (8080, 0)
