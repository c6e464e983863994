"""How soon the chat page says what a first prompt waits for: on a server that has just started."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from .serving import running_server
from .test_chat_page import Chat

pytestmark = pytest.mark.browser

LIMIT_MS = 500
"""From the Enter key to the words on the page."""
TRIES = 3
"""Until one is in time: the machine may be busy."""
WATCH = """() => { window.taken = new Promise(done => {
  document.querySelector('#text').addEventListener('keydown', ({ key }) => {
    if (key !== 'Enter') return;
    const began = performance.now();
    const look = () => {
      const words = document.querySelector('#passing:not([hidden]) span')?.textContent;
      if (words) done([words, performance.now() - began]); else requestAnimationFrame(look);
    };
    look();
  });
}); }"""


def test_the_first_prompt_of_a_server_has_a_status_within_half_a_second(
    context: BrowserContext, tmp_path: Path
) -> None:
    taken: list[float] = []
    while len(taken) < TRIES and not (taken and taken[-1] <= LIMIT_MS):
        with running_server(tmp_path / str(len(taken))) as server:
            chat = Chat(context, server)
            expect(chat.page.locator("#agent")).to_have_text("demo agent")
            taken.append(first_status(chat, "demo: wait")[1])
            chat.page.get_by_label("Stop the turn").click()
            chat.ready()
    assert taken[-1] <= LIMIT_MS, taken


def test_a_prompt_that_waits_for_the_agent_is_shown_with_what_it_waits_for(
    context: BrowserContext, tmp_path: Path
) -> None:
    with running_server(tmp_path, COPILOT_KERNEL_DEMO="never-answers") as server:
        chat = Chat(context, server)
        expect(chat.page.locator("#link")).to_have_attribute("data-state", "open")
        words, milliseconds = first_status(chat, "Hello?")
        assert (words, milliseconds <= LIMIT_MS) == ("Starting the agent…", True), milliseconds
        expect(chat.log.locator(".prompt")).to_have_text("Hello?")


def first_status(chat: Chat, prompt: str) -> tuple[str, float]:
    """The first words of the page about what it does, and how many milliseconds after Enter."""
    chat.page.evaluate(WATCH)
    chat.send(prompt)
    words, taken = chat.page.evaluate("() => window.taken")
    return str(words), float(taken)
