"""The chat page says what a first prompt waits for: on a server that has just started."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from .serving import running_server
from .test_chat_page import Chat

pytestmark = pytest.mark.browser


def test_a_prompt_that_waits_for_the_agent_is_shown_with_what_it_waits_for(
    context: BrowserContext, tmp_path: Path
) -> None:
    with running_server(tmp_path, COPILOT_KERNEL_DEMO="never-answers") as server:
        chat = Chat(context, server)
        expect(chat.page.locator("#link")).to_have_attribute("data-state", "open")
        chat.send("Hello?")
        expect(chat.page.locator("#passing:not([hidden]) span")).to_have_text("Starting the agent…")
        expect(chat.log.locator(".prompt")).to_have_text("Hello?")
