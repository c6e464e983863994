"""Hostile text in every field that an agent controls, in JupyterLab: nothing runs, nothing leaves, all is readable."""

import base64
import json
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = pytest.mark.browser

PAYLOADS = (
    "<script>window.hostile=1</script>",
    "<img src=x onerror='window.hostile=1'>",
    "<img src='https://evil.example/pixel.png'>",
    "![pixel](https://evil.example/pixel.png)",
    "![pixel][p]\n\n[p]: https://evil.example/pixel.png",
    "[press](javascript:window.hostile=1)",
    "[press](JaVa&#115;cript:window.hostile=1)",
    "[press](data:text/html,<script>window.hostile=1</script>)",
    "<a href='javascript:window.hostile=1'>press</a>",
    "<svg onload='window.hostile=1'><script>window.hostile=1</script></svg>",
    "<iframe srcdoc='<script>parent.hostile=1</script>'></iframe>",
    "<style>body{background:url(https://evil.example/s.css)}</style>",
    "<div style='position:fixed;inset:0;background:url(https://evil.example/b.png)'>over</div>",
    "<form action='https://evil.example'><button>Allow once</button></form>",
    "<button data-commandlinker-command='notebook:run-cell'>Allow once</button>",
    "<details open ontoggle='window.hostile=1'>x</details>",
    "<link rel=stylesheet href='https://evil.example/l.css'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<video src='https://evil.example/v.mp4' autoplay></video>",
    "`</code><script>window.hostile=1</script>`",
    "```html\n</code></pre><script>window.hostile=1</script>\n```",
    "<!--<img src=x onerror='window.hostile=1'>-->",
    "$\\href{javascript:window.hostile=1}{x}$",
    "\u202egnitirw\u202c and \u200binvisible",
    "\u001b[31mred\u001b[0m \u0007bell \u0000null",
)

READABLE = "readable-{}"
AT_ONCE = 5
_NAMED = [f"{READABLE.format(index)} {payload}" for index, payload in enumerate(PAYLOADS)]
TOGETHER = {
    READABLE.format(first): "\n\n".join(_NAMED[first : first + AT_ONCE]) for first in range(0, len(PAYLOADS), AT_ONCE)
}
"""Several in one text, by its first words: one that a page takes for more than text does not hide the others."""


def fields(text: str) -> list[dict[str, Any]]:
    """Updates that carry `text` in each field that the agent controls."""
    call = {"toolCallId": text, "title": text, "kind": "execute", "status": "completed"}
    block = {"type": "text", "text": text}
    return [
        {"sessionUpdate": "agent_message_chunk", "content": block},
        {"sessionUpdate": "agent_thought_chunk", "content": block},
        {"sessionUpdate": "plan", "entries": [{"content": text, "priority": text, "status": text}]},
        {
            "sessionUpdate": "tool_call",
            **call,
            "rawInput": {"command": text, text: text},
            "rawOutput": {"output": text, "stderr": text},
            "locations": [{"path": text, "line": 1}],
            "content": [
                {"type": "content", "content": block},
                {"type": "diff", "path": text, "oldText": f"a\n{text}\nb", "newText": f"a\n{text}{text}\nc"},
                {"type": "terminal", "terminalId": text},
                {"type": text, text: text},
            ],
        },
        {"sessionUpdate": "tool_call", "toolCallId": f"{text}2", "title": text, "kind": text, "rawInput": {text: text}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": text, "name": text}},
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "resource", "resource": {"uri": text, "text": text}},
        },
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "mimeType": text, "data": text}},
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "image", "mimeType": "image/svg+xml", "data": SVG},
        },
        {"sessionUpdate": "notice", "severity": text, "title": text, "description": text},
        {"sessionUpdate": "session_info_update", "title": text},
        {"sessionUpdate": "current_mode_update", "currentModeId": text},
        {"sessionUpdate": text, "anything": text},
    ]


SVG = base64.b64encode(
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="parent.hostile=1"><script>parent.hostile=1</script></svg>'
).decode()


def prompt(text: str) -> str:
    """One turn with this text everywhere."""
    return "demo: say start\\n\\n\n" + "\n".join("raw " + json.dumps(update) for update in fields(text))


def test_no_script_runs_no_request_leaves_and_the_text_stays_readable(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "hostile.ipynb", *map(prompt, TOGETHER.values()))
    dialogs: list[str] = []
    notebook.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    check(notebook, dialogs, run=True)
    notebook.save()
    notebook.page.reload()
    notebook.wait_ready()
    check(notebook, dialogs, run=False)


def check(notebook: Notebook, dialogs: list[str], run: bool) -> None:
    """Look at every cell, open what is folded, and see that nothing happened."""
    for index, name in enumerate(TOGETHER):
        if run:
            notebook.run(index)
        output = notebook.output(index)
        output.scroll_into_view_if_needed()
        output.evaluate("output => output.querySelectorAll('details').forEach(fold => { fold.open = true })")
        expect(output).to_contain_text(name)
        assert output.locator("script, iframe, form, object, embed, style, link, video").count() == 0
        assert output.locator("a[href^='javascript' i], a[href^='data:' i]").count() == 0
        assert output.get_by_role("button", name="Allow once").count() == 0
    assert notebook.page.evaluate("() => window.hostile ?? 0") == 0
    assert dialogs == []
