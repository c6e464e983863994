"""A Jupyter server with the extension, and the demo agent behind it; nothing of the user's is touched.

`extension` (settings of `CopilotApp`), `demo` (switches of the demo agent) and `agent` (the setting) can be given by
parametrizing them indirectly.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp import agent_connection
from copilot_kernel.config import Settings
from pytest_jupyter.jupyter_server import *  # noqa: F403  (the way to have its fixtures in this folder alone)
from traitlets.config import Config

from .api import Api
from .sockets import ChatEndpoint


@pytest.fixture
def extension(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(getattr(request, "param", {}))


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", "demo"))


@pytest.fixture
def demo(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", ""))


@pytest.fixture(autouse=True)
def no_wait_for_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents that tests write themselves offer nothing, and need not be given time to do so."""
    monkeypatch.setattr(agent_connection, "OPTIONS_DELAY", 0.0)


@pytest.fixture
def jp_server_config(extension: dict[str, Any], agent: str, demo: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", agent)
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", demo)
    monkeypatch.delenv("COPILOT_MODEL", raising=False)
    server = {"jpserver_extensions": {"copilot_kernel": True, "jupyter_server_terminals": False}}
    return Config({"ServerApp": server, "CopilotApp": extension})


@pytest.fixture
def api(jp_serverapp: Any, jp_fetch: Callable[..., Any], jp_http_port: int, jp_base_url: str) -> Api:
    return Api(jp_serverapp, jp_fetch, jp_http_port, jp_base_url)


@pytest.fixture
def endpoint(jp_serverapp: Any, http_server: Any, jp_http_port: int, jp_base_url: str) -> ChatEndpoint:
    return ChatEndpoint(jp_http_port, jp_base_url, jp_serverapp.identity_provider.token)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path / "demo"))
    folder = tmp_path / "project"
    folder.mkdir()
    return Settings(agent="demo", cwd=str(folder), cancel_grace=2.0, state=str(tmp_path / "state"))
