"""The chat page, as its reader sees it."""

import re

from playwright.sync_api import BrowserContext, Locator, Page, expect

from .lab import LIMIT_MS, exactly
from .serving import Server

DECODED = "image => image.decode().then(() => image.naturalWidth)"


class Chat:
    """The page, as its reader sees it; `faults` are what the browser complains of, `asked` what it asked for."""

    def __init__(self, context: BrowserContext, server: Server | None = None) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(LIMIT_MS)
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda line: self.faults.append(line.text) if line.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        if server is not None:
            self.page.goto(server.page)

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log", name="Conversation")

    def send(self, text: str) -> None:
        self.page.get_by_label("Message").fill(text)
        self.page.keyboard.press("Enter")

    def expect(self, text: str | re.Pattern[str]) -> None:
        expect(self.log).to_contain_text(text)

    def ready(self) -> None:
        """The turn is over."""
        expect(self.page.get_by_label("Stop the turn")).to_be_hidden()

    def deny(self) -> None:
        """Answer the question, and wait for the end of the turn."""
        self.button("Deny").click()
        self.ready()

    def button(self, name: str) -> Locator:
        return self.log.get_by_role("button").filter(has_text=exactly(name))
