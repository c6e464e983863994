"""How the extension's settings are written, on the command line and in files."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from copilot_kernel.server.app import CopilotApp, StringList
from copilot_kernel.server.standalone import StandaloneServer
from jupyter_server.serverapp import ServerApp
from tornado.ioloop import IOLoop
from tornado.web import Application
from traitlets import List, TraitError

from .api import LIMIT, until

ONE, TWO = "https://one.example", "http://two.example:3000"


def knowing(*options: str) -> CopilotApp:
    """Our options are read by who knows what they are."""
    app = CopilotApp()
    app.parse_command_line(list(options))
    return app


def in_jupyter(*options: str) -> CopilotApp:
    """Jupyter's own server reads them before it knows."""
    server = ServerApp()
    server.parse_command_line(list(options))
    return CopilotApp(config=server.config)


@pytest.mark.parametrize("server", [knowing, in_jupyter])
@pytest.mark.parametrize(("written", "meant"), [
    ([ONE, TWO], [ONE, TWO]), ([f'["{ONE}", "{TWO}"]'], [ONE, TWO]), ([f"['{ONE}']", TWO], [ONE, TWO]), (["[]"], []),
])  # fmt: skip
def test_a_list_may_be_one_text(server: Any, written: list[str], meant: list[str]) -> None:
    assert server(*(f"--CopilotApp.cors_origins={each}" for each in written)).cors_origins == meant


@pytest.mark.parametrize("server", [knowing, in_jupyter])
@pytest.mark.parametrize("written", [f"['{ONE}'", "[1, 2]", "['a'] + ['b']"])
def test_what_only_looks_like_a_list_is_refused(server: Any, written: str) -> None:
    with pytest.raises((TraitError, SystemExit)):
        server(f"--CopilotApp.allow={written}")


def test_an_error_shows_the_right_form() -> None:
    with pytest.raises(TraitError, match=r"Write --CopilotApp.allow=VALUE once for each value, or all of them as"):
        in_jupyter("--CopilotApp.allow=['Read'")


def test_every_list_is_read_so() -> None:
    own = {name: trait for name, trait in CopilotApp.class_own_traits(config=True).items() if isinstance(trait, List)}
    assert sorted(own) == ["allow", "chat_allow", "cors_origins"]
    assert {type(trait) for trait in own.values()} == {StringList}


def test_the_environment_has_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_MODEL", "gpt-9")
    monkeypatch.setenv("COPILOT_KERNEL_ACTIVITY_TIMEOUT", "600")
    assert (CopilotApp().defaultModel, CopilotApp().activity_timeout) == ("gpt-9", 600)


@pytest.mark.parametrize("origin", ["https://one.example/", "one.example", "*", "HTTPS://ONE.example", ""])
def test_what_no_browser_sends_as_an_origin_is_refused(origin: str) -> None:
    with pytest.raises(TraitError, match=r"is not an origin\. Write scheme, host and port"):
        CopilotApp(cors_origins=[origin])


# -- a server of its own -----------------------------------------------------------------------------------------------


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
        (bound,) = server.http_server._sockets.values()
        reader, writer = await asyncio.open_connection(*bound.getsockname()[:2])
        writer.write(head.encode())
        async with asyncio.timeout(LIMIT):
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 404") if head.endswith("\r\n\r\n") else answer == b""
        writer.close()


def test_its_port_is_8080_or_none() -> None:
    app = CopilotApp()
    app.serverapp = StandaloneServer()
    own = app._jupyter_server_config()["ServerApp"]
    assert (own["port"], own["port_retries"]) == (8080, 0)
