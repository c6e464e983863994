"""A long turn in JupyterLab: how high it is, what it says while it runs, and what of it opens."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

MAX_HEIGHT = 800
"""Pixels, in a window of 1400: one screen."""
FILES = ("client", "retry", "users", "orders", "errors", "config", "cache", "pages")
COMMANDS = (("ruff check", 0), ("pytest tests/test_client.py -q", 1), ("git diff --stat", 0), ("pytest -q", 0))


MAX_OUTPUT_HEIGHT = 400
"""Of one output, unfolded."""
HIGHEST = "output => Math.max(...[...output.querySelectorAll('details pre')].map(each => each.clientHeight))"


def call(number: int, kind: str, title: str, **more: Any) -> dict[str, Any]:
    fields = {"title": title, "kind": kind, "status": "completed", **more}
    return {"sessionUpdate": "tool_call", "toolCallId": f"long-{number}", **fields}


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": words}}]


def edited(number: int, name: str, title: str = "Edit src/{}.py", line: int = 7) -> dict[str, Any]:
    before = "".join(f"{name}_{line} = {line}\n" for line in range(40))
    after = before.replace(f"_{line} = {line}", f"_{line} = {line + 1}")
    diff = {"type": "diff", "path": f"src/{name}.py", "oldText": before, "newText": after}
    return call(number, "edit", title.format(name), content=[diff])


def ran(number: int, command: str, code: int) -> dict[str, Any]:
    output = "".join(f"tests/test_{line}.py ..F.\n" for line in range(20)) + f"{code} failed, 30 passed in 4.21s"
    more: dict[str, Any] = {"rawInput": {"command": command}, "content": text(output)}
    more["rawOutput"] = {"exitCode": code}
    return call(number, "execute", "Run it", **more)


def thought(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": words}}


def turn() -> Iterator[dict[str, Any]]:
    """12 reads and searches, 8 edits, 5 commands of which one fails, 2 thoughts, a plan, and a tool of a server; then 8
    edits whose titles tell nothing, with reads between them.
    """
    steps = [{"content": f"Step {number}", "priority": "medium", "status": "completed"} for number in range(1, 5)]
    yield {"sessionUpdate": "plan", "entries": steps}
    yield thought("I look at the client first.")
    for number, name in enumerate(FILES):
        yield call(number, "read", f"Read src/{name}.py", content=text("one\ntwo\n" * 300))
    for number in range(8, 12):
        yield call(number, "search", f"Search for retry {number}", content=text("src/client.py:7\n" * 20))
    yield thought("Now the edits.")
    for number, name in enumerate(FILES, 12):
        yield edited(number, name)
    for number, (command, code) in enumerate(COMMANDS, 20):
        yield ran(number, command, code)
    yield call(24, "execute", "ls", rawInput={"command": "ls"}, content=text("src\ntests"))
    yield call(25, "other", "lab-echo", rawInput={"text": "hi"}, content=text("hi"))
    for number, name in enumerate(FILES, 26):
        yield edited(number, name, "Edit file", 9)
        if name in ("retry", "errors", "cache"):
            yield call(number + 8, "read", f"Viewing src/{name}.py", content=text("one\ntwo\n" * 300))
    yield {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "The client retries now."}}


def prompt() -> str:
    return "demo: " + "\n".join(f"raw {json.dumps(update)}" for update in turn())


def test_a_turn_of_forty_steps_fits_on_a_screen_and_everything_in_it_opens(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "long.ipynb", prompt())
    notebook.page.set_viewport_size({"width": 1400, "height": 1000})
    notebook.run(0)
    output = notebook.output(0)
    box = output.bounding_box()
    assert box["height"] <= MAX_HEIGHT
    expect(output.get_by_text("Changed 8 files, read 8, searched 4 times · +8 −8 ⚠ not asked")).to_be_visible()
    expect(output.get_by_text("Changed 8 files, read 3 · +8 −8 ⚠ not asked")).to_be_visible()
    expect(output.get_by_text("1 failed, 30 passed in 4.21s").last).to_be_visible()
    expect(output.get_by_text("client_7 = 8").first).not_to_be_visible()
    output.evaluate("output => output.querySelectorAll('details').forEach(fold => { fold.open = true })")
    expect(output.get_by_text("client_7 = 8").first).to_be_visible()
    expect(output.get_by_role("link", name="src/pages.py").first).to_be_visible()
    expect(output.get_by_text("src/client.py:7").last).to_be_visible()
    assert output.evaluate(HIGHEST) <= MAX_OUTPUT_HEIGHT


def test_while_a_turn_runs_a_line_on_top_says_what_it_does(context: BrowserContext, lab: Lab) -> None:
    cell = "demo: wait 1\nshell sleep 60"
    notebook = Notebook.new(context, lab, "status.ipynb", "demo: say the agent is known", cell)
    notebook.run(0)
    notebook.run(1, wait=False)
    first = notebook.output(1).locator(".jp-OutputArea-child").first
    expect(first).to_contain_text("Waiting for you · 1 question below")
    notebook.button(1, "Allow once").click()
    expect(first).to_contain_text("◐ Running sleep 60")
    notebook.command("notebook:interrupt-kernel")
    notebook.wait_status("idle")
    assert first.evaluate("child => child.clientHeight") == 0
    expect(notebook.output(1)).to_contain_text("■ Stopped by you")
