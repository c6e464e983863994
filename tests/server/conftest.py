"""A Jupyter server with the extension, and the demo agent behind it; nothing of the user's is touched.

The tests of a file share both, one after the other; so the loop of its tests is one, too. `extension` (settings of
`CopilotApp`) and `environment` (settings of the kernel) can be given by parametrizing them indirectly: these tests have
a server of their own.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp import agent_connection
from copilot_kernel.config import Settings
from copilot_kernel.server.catalogue import ModelCatalogue
from copilot_kernel.server.chat.chat_session_manager import ChatSessionManager
from copilot_kernel.server.pool import AgentPool
from jupyter_server.serverapp import ServerApp
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from traitlets.config import Config

from .api import Api
from .chatting import Speaker, chat_manager
from .sockets import Client


@pytest.fixture(autouse=True)
def no_wait_for_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents that tests write themselves offer nothing, and need not be given time to do so."""
    monkeypatch.setattr(agent_connection, "OPTIONS_DELAY", 0.0)


@pytest.fixture(scope="module")
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder: the user's home, in which the agent works."""
    home = tmp_path_factory.mktemp("home")
    settings = {"AGENT": "demo", "DEMO": "", "DEMO_HOME": str(home / "demo"), **getattr(request, "param", {})}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(home))
        patch.delenv("COPILOT_MODEL", raising=False)
        for name, value in settings.items():
            patch.setenv(f"COPILOT_KERNEL_{name}", value)
        yield home


@pytest.fixture(scope="module")
def extension(request: pytest.FixtureRequest) -> dict[str, Any]:
    """No limit is reached by what tests ask one after the other."""
    return {"rate_limit": 0, **getattr(request, "param", {})}


@pytest.fixture(scope="module")
async def server(environment: Path, extension: dict[str, Any]) -> AsyncIterator[Api]:
    async with serving(environment, extension) as api:
        yield api


@asynccontextmanager
async def serving(folder: Path, extension: dict[str, Any]) -> AsyncIterator[Api]:
    """Jupyter Server as `jupyter server` starts it, but in this loop."""
    (socket,) = sockets = bind_sockets(0, "127.0.0.1")
    config = Config({"ServerApp": {"jpserver_extensions": {"copilot_kernel": True}}, "CopilotApp": extension})
    more = {"base_url": "/a%40b/", "root_dir": str(folder), "port": socket.getsockname()[1], "log_level": "DEBUG"}
    app = ServerApp.instance(config=config, allow_root=True, **more)
    app.init_signal = lambda: None
    app.initialize(argv=[], find_extensions=False, new_httpserver=False)
    app.log.propagate = True
    http = HTTPServer(app.web_app)
    http.add_sockets(sockets)
    try:
        yield Api(app)
    finally:
        http.stop()
        await http.close_all_connections()
        await app._cleanup()
        ServerApp.clear_instance()


@pytest.fixture
async def api(server: Api) -> AsyncIterator[Api]:
    yield server
    await server.close_conversations()


@pytest.fixture
async def client(api: Api) -> AsyncIterator[Client]:
    """One connection to the chat."""
    async with api.chat() as client:
        yield client


# -- conversations without a server ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def pool(environment: Path) -> AsyncIterator[AgentPool]:
    pool = AgentPool(Settings(agent=os.environ["COPILOT_KERNEL_AGENT"], cwd=str(environment)), 1, 900, ModelCatalogue())
    yield pool
    await pool.close()


@pytest.fixture
def settings(request: pytest.FixtureRequest, environment: Path, tmp_path: Path) -> Settings:
    more = getattr(request, "param", {})
    return Settings(agent="demo", cwd=str(environment), cancel_grace=2.0, state=str(tmp_path / "state"), **more)


@pytest.fixture
async def chats(
    request: pytest.FixtureRequest, pool: AgentPool, settings: Settings
) -> AsyncIterator[ChatSessionManager]:
    """Its limits can be given by parametrizing it indirectly."""
    async with chat_manager(pool, settings, **getattr(request, "param", {})) as chats:
        yield chats


@pytest.fixture
async def speaker(chats: ChatSessionManager) -> Speaker:
    speaker = Speaker()
    speaker.session = await chats.new(speaker)
    return speaker
