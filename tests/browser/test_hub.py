"""The chat page and the API on a real JupyterHub, whose rules for cookies and tokens are not those of Jupyter."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from .hub import INSTALL, PASSWORD, PROXY, USER, Hub, running_hub
from .test_chat_page import Chat

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

STATUS = f"/user/{USER}/copilot/status"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    if shutil.which("node") is None or not PROXY.is_file():
        reason = f"Node.js or the package configurable-http-proxy is missing: {INSTALL}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with running_hub(tmp_path_factory.mktemp("hub")) as running:
        yield running


def test_question_click_and_answer(context: BrowserContext, hub: Hub) -> None:
    chat = Chat(context)
    chat.page.goto(f"{hub.url}{hub.server}copilot/chat")
    chat.page.get_by_label("Username").fill(USER)
    chat.page.get_by_label("Password").fill(PASSWORD)
    chat.page.get_by_role("button", name="Sign in").click()
    expect(chat.page.locator("#agent")).to_have_text("demo agent")
    chat.page.get_by_role("button", name="Explain what this project does").click()
    chat.expect("What this project does")
    chat.ready()
    chat.send("demo: image\nask Shall I?\nsay after")
    chat.button("Allow once").click()
    chat.expect("after")
    chat.ready()
    image = chat.log.locator(".files img")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    chat.page.reload()
    chat.expect("after")
    chat.page.get_by_role("button", name="Recent").click()
    dialog = chat.page.get_by_role("dialog", name="Recent conversations")
    expect(dialog.get_by_role("button", name=re.compile("Explain"))).to_be_visible()
    assert chat.faults == []


@pytest.mark.parametrize(
    ("scopes", "status"),
    [((f"access:servers!server={USER}/",), 200), ((f"access:servers!user={USER}",), 200), (("read:users!user",), 401)],
)
def test_a_token_of_the_hub_needs_the_scope(hub: Hub, scopes: tuple[str, ...], status: int) -> None:
    assert hub.ask("GET", STATUS, hub.token(*scopes))[0] == status


@pytest.mark.parametrize("token", ["", "wrong"])
def test_who_has_none_is_told_which(hub: Hub, token: str) -> None:
    status, body = hub.ask("GET", STATUS, token)
    assert status == 401
    assert f"the scope access:servers!server={USER}/ " in body["error"]["message"]
    assert "/hub/token" in body["error"]["message"]
