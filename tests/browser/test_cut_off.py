"""Nothing of an answer, a long turn or a question is cut off, or has to be scrolled, without saying so."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from .chat_page import Chat
from .lab import BOTH, Lab, Notebook
from .measurements import HIDDEN
from .test_long_turn import prompt

pytestmark = pytest.mark.browser

WIDTHS = (1400, 700)
ANSWER = r"""demo: plan Read the tests;Fix the client / 1
say # What I found\n\nThe client never *retries*: see `client.py` and [the manual](https://example.org/retry).\n\n
say - one item\n- another\n\n| status | retried |\n|---|---|\n| 429 | yes |\n| 404 | no |\n\n
say ```python\nfor attempt in range(3):\n    send(request)\n```\n
unasked echo one; echo two; exit 3
error -32603 429 You have exceeded your premium requests. Resets 2026-12-01."""
THREE = "demo: together " + " ;; ".join(f"ask Question {word}" for word in ("one", "two", "three"))
COMMAND = {"title": "Commit it", "kind": "execute", "rawInput": {"command": "git commit -m 'Begin at nought' a.py"}}
OPTIONS = [{"optionId": kind, "kind": kind, "name": kind} for kind in ("allow_once", "allow_always", "reject_once")]


def request(call: dict[str, Any]) -> str:
    """A cell in which the agent asks about a call."""
    params = {"toolCall": {"toolCallId": "asked", **call}, "options": OPTIONS}
    return f"demo: request session/request_permission {json.dumps(params)}"


def long_edit(lab: Lab) -> dict[str, Any]:
    """An edit of more lines than are shown unfolded."""
    before, after = ("".join(f"line_{number} = '{word}'\n" for number in range(40)) for word in ("old", "new"))
    diff = {"type": "diff", "path": str(lab.root / "long.py"), "oldText": before, "newText": after}
    return {"title": "Edit long.py", "kind": "edit", "content": [diff]}


def cut_off(output: Locator) -> list[str]:
    """The elements of which something cannot be seen, in a wide and in a narrow window."""
    found = []
    for width in WIDTHS:
        output.page.set_viewport_size({"width": width, "height": 1000})
        output.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found += output.evaluate(HIDDEN)
    return found


@BOTH
def test_nothing_is_cut_off_in_a_notebook(context: BrowserContext, lab: Lab, classic: bool) -> None:
    questions = (request(COMMAND), request(long_edit(lab)), THREE)
    with lab.setting("@jupyterlab/notebook-extension:tracker", windowingMode="none"):  # all cells are in the page
        notebook = Notebook.new(context, lab, "scenes.ipynb", ANSWER, prompt(), *questions, classic=classic)
    if not classic:
        notebook.command("application:toggle-left-area")
    for index in range(5):
        notebook.run(index, wait=False)
        if index >= 2:
            expect(notebook.button(index, re.compile("^Allow once")).last).to_be_enabled()
        else:
            expect(notebook.cell(index).locator(".jp-InputArea-prompt")).to_have_text(re.compile(r"\d+"))
        assert cut_off(notebook.output(index)) == []
        notebook.command("notebook:interrupt-kernel")
        notebook.wait_status("idle")


def test_nothing_is_cut_off_on_the_chat_page(chat: Chat) -> None:
    chat.send("Fix the bug in fibonacci.py")
    expect(chat.button("Allow once")).to_be_enabled()
    assert cut_off(chat.log) == []
    chat.deny()
