"""One JupyterLab and one browser profile for all tests of this folder; the profile is emptied after each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from .chat_page import Chat
from .lab import LIMIT_MS, NOTIFICATIONS, SIZE, Lab, empty, find_chromium, running_lab, running_profile
from .serving import Server, running_server

expect.set_options(timeout=LIMIT_MS)
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "attachment:")
"""What requests that stay on this machine begin with."""


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """Headless Chromium with a profile on disk, which keeps JupyterLab's scripts as they were compiled."""
    if find_chromium() is None:
        pytest.skip("no Chromium: install it (Debian: apt-get install chromium)")
    with running_profile(tmp_path_factory.mktemp("profile"), viewport=SIZE) as context:
        yield context


@pytest.fixture(scope="session")
def chromium(profile: BrowserContext) -> Browser:
    """The browser, for contexts of another kind."""
    return profile.browser


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab whose Copilot kernels use the demo agent."""
    with running_lab(tmp_path_factory.mktemp("lab"), COPILOT_KERNEL_DEMO="mcp-http") as running:
        yield running


@pytest.fixture(scope="module")
def one_page(profile: BrowserContext, server: Lab) -> Iterator[Page]:
    """A page of JupyterLab that the tests of a module use one after the other."""
    page = profile.new_page()
    page.goto(server.address(), timeout=LIMIT_MS)
    page.wait_for_function("() => window.jupyterapp", timeout=LIMIT_MS)
    page.evaluate("() => window.jupyterapp.restored.then(() => null)")
    yield page
    empty(profile, profile.pages[0])


@pytest.fixture
def lab(request: pytest.FixtureRequest, server: Lab, tmp_path: Path) -> Lab:
    """The server, with a folder for this test, and with a page where its module uses `one_page`."""
    pages = [request.getfixturevalue("one_page")] if "one_page" in request.fixturenames else []
    return server.of_test(tmp_path.name, *pages)


@pytest.fixture
def context(profile: BrowserContext) -> Iterator[BrowserContext]:
    """The profile, which fails the test when a page tries to leave the machine."""
    strays: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith(LOCAL):
            strays.append(request.url)

    kept = profile.pages
    profile.on("request", note)
    yield profile
    profile.remove_listener("request", note)
    empty(profile, *kept)
    assert strays == []


@pytest.fixture
def loud(lab: Lab) -> Iterator[None]:
    """Notifications are shown."""
    with lab.setting(NOTIFICATIONS, doNotDisturbMode=False):
        yield


@pytest.fixture(scope="session")
def chat_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the extension alone."""
    with running_server(tmp_path_factory.mktemp("chat-page")) as running:
        yield running


@pytest.fixture
def chat(context: BrowserContext, chat_server: Server) -> Iterator[Chat]:
    """The chat page, which fails the test when the browser complains."""
    chat = Chat(context, chat_server)
    yield chat
    assert chat.faults == []
