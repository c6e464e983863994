"""One JupyterLab and one browser for all tests of this folder; a new context and page for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from .lab import LIMIT, NOTIFICATIONS, Lab, find_chromium, running_browser, running_lab

expect.set_options(timeout=LIMIT)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Headless Chromium."""
    if find_chromium() is None:
        pytest.skip("no Chromium: install it (Debian: apt-get install chromium)")
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab whose Copilot kernels use the demo agent."""
    with running_lab(tmp_path_factory.mktemp("lab"), COPILOT_KERNEL_DEMO="mcp-http") as running:
        yield running


@pytest.fixture
def lab(server: Lab, tmp_path: Path) -> Lab:
    """The server, with a folder for this test."""
    return server.of_test(tmp_path.name)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser profile of its own, which fails the test when a page tries to leave the machine."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    strays: list[str] = []
    context.on("request", lambda request: None if is_local(request.url) else strays.append(request.url))
    yield context
    context.close()
    assert strays == []


@pytest.fixture
def loud(lab: Lab) -> Iterator[None]:
    """Notifications are shown."""
    with lab.setting(NOTIFICATIONS, doNotDisturbMode=False):
        yield


def is_local(url: str) -> bool:
    """Whether a request stays on this machine."""
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))
