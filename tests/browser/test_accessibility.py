"""What screen readers say of outputs and questions, whether they can be read, and how the keyboard leads to them."""

import re
from dataclasses import replace
from pickle import dumps
from typing import Any

import nbformat
import pytest
from copilot_kernel.acp.messages import Diff, PermissionOption, UsageUpdate
from copilot_kernel.conversation.changes import changes_of
from copilot_kernel.conversation.model import ToolCall, Unasked
from copilot_kernel.conversation.outcome import TurnOutcome
from copilot_kernel.errors import AgentRefused
from copilot_kernel.permissions.question import Question, RuleOffer
from copilot_kernel.rendering.entry import render, render_text
from copilot_kernel.rendering.failure import render_failure
from copilot_kernel.rendering.footer import footer_bundles, render_stopped
from copilot_kernel.rendering.question import QuestionView
from copilot_kernel.rendering.report import Report, render_report
from playwright.sync_api import Browser, BrowserContext, expect

from ..rendering.samples import entries
from .axe import findings
from .lab import Lab, Notebook
from .test_question_card import card

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

OUTPUT = ".jp-OutputArea-output"
ANSWER = """# Done
Some `code`, a [link](https://example.org) and a table.

| name | size |
|---|---|
| a | 1 |

```python
# A comment
@cached
class Thing(Base):
    def size(self): return len("text") + 12 if None else int(self.value)
```

```diff
@@ -1 +1 @@
-old
+new
```
"""
COLOURS = "\n".join(f"\x1b[{code}mcolour {code}\x1b[0m" for code in (2, *range(30, 38), *range(90, 98)))
BEFORE = "def one():\n    return 1\n\n\n# the end\n"
EDIT = Diff("/project/a.py", BEFORE, BEFORE.replace("return 1", "return 'one'  # new"))
OPTIONS = (PermissionOption("once", "Allow once", "allow_once"), PermissionOption("no", "Deny", "reject_once"))
SCRIPT = "demo: say # Done\nplan A;B / 1\nthink why\nread nothing.txt\nshell git push origin HEAD:main --force"
ABOUT = "git push origin HEAD:main --force"


def tool_call(**fields: Any) -> ToolCall:
    return ToolCall(1, 1, "x", **fields)


def every_output() -> list[dict[str, Any]]:
    """One of each kind and state; Jupyter shows images itself, without their names."""
    statuses = ("pending", "waiting", "in_progress", "completed", "failed", "rejected", "cancelled")
    command = {"command": "ls 'a b' --all && rm -r ../build", "cwd": "/elsewhere"}
    edit = tool_call(title="Edit", kind="edit", status="completed", content=(EDIT,), unasked=Unasked("not asked"))
    ended = TurnOutcome(
        1, "max_tokens", "", (edit,), "", "demo agent", "m", "plan", {"totalTokens": 12}, UsageUpdate(9, 10)
    )
    ended = replace(ended, permission_mode="bypassPermissions", seconds=1.0)
    changes = changes_of([edit], "/project")
    shown = [
        *(render(entry, "/project") for entry in entries().values()),
        *(render_text(speaker, ANSWER) for speaker in ("user", "agent", "thought")),
        *(render(tool_call(title=f"Edit {each}", kind="edit", status=each, content=(EDIT,))) for each in statuses),
        render(tool_call(title="Test", kind="execute", status="failed", raw_output={"output": COLOURS})),
        QuestionView(Question(tool_call(title="Edit", kind="edit", content=(EDIT,)), OPTIONS), "/project").bundle,
        QuestionView(
            Question(tool_call(title="Run", kind="execute", raw_input=command), OPTIONS, why="It may delete."), "/p"
        ).bundle,
        render_failure(AgentRefused("session/prompt", -32000, "No quota", {"left": 0})),
        render_report(Report("Settings", ("name", "value"), (("mode", "default"),), note="Restart it.", warns=True)),
        *footer_bundles(ended, changes, timed=True, cells=[("edited", "cell 1", "c1")]),
        render_stopped(1.0),
    ]
    return [bundle for bundle in shown if bundle and "text/html" in bundle]


def saved() -> Any:
    """A notebook with every output."""
    outputs = [nbformat.v4.new_output("display_data", data=bundle) for bundle in every_output()]
    cells = [nbformat.v4.new_code_cell("Everything", outputs=outputs), nbformat.v4.new_code_cell(SCRIPT)]
    spec = {"name": "copilot", "display_name": "Copilot", "language": "copilot"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": spec})


def exported(notebook: Any, theme: str = "light") -> str:
    """As HTML of nbconvert, without its scripts, which come from elsewhere."""
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter(theme=theme).from_notebook_node(notebook)
    return re.sub("<script.*?</script>", "", html, flags=re.DOTALL)


# -- axe -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_exported_notebook_has_no_serious_findings(chromium: Browser, theme: str) -> None:
    page = chromium.new_page()
    page.set_content(exported(saved(), theme))
    found = findings(page, OUTPUT)
    page.emulate_media(media="print")
    hidden = page.locator(OUTPUT).filter(has_text=re.compile(r"\S"), visible=False).count()
    page.close()
    assert (found, hidden) == ([], 0)


def test_jupyterlab_shows_outputs_and_an_open_question_without_serious_findings(
    context: BrowserContext, lab: Lab
) -> None:
    nbformat.write(saved(), lab.root / "axe.ipynb")
    notebook = Notebook.open(context, lab, "axe.ipynb")
    notebook.run(1, wait=False)
    expect(notebook.button(1, "Allow once")).to_be_enabled()
    notebook.button(1, "Deny and say why…").click()
    kept = notebook.output(0).locator("[style*='color:color-mix']")
    assert kept.count() > 50, "the notebook is not trusted: its outputs are sanitised"
    try:
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            notebook.theme(theme)
            assert findings(notebook.page, OUTPUT, ".copilot-status", ".copilot-announcer") == []
    finally:
        notebook.theme("JupyterLab Light")


VS_CODE = {"dark": ("#1f1f1f", "#cccccc"), "light": ("#ffffff", "#3b3b3b"), "high contrast": ("#000000", "#ffffff")}
"""Background and foreground of the editor. VS Code sets what JupyterLab's light theme sets in all of its themes."""
WORN = "buttons => [...new Set(buttons.map(each => getComputedStyle(each).color))]"
BOX = "card.widget.say(PermissionQuestion(loads({asked!r}), '/project').static['text/html'])"
WEAR = """([back, front]) => {
  document.documentElement.style.setProperty('--vscode-editor-background', back);
  document.documentElement.style.setProperty('--vscode-editor-foreground', front);
}"""


@pytest.mark.parametrize("theme", VS_CODE)
def test_a_question_in_the_colours_of_vs_code_has_no_serious_findings(
    context: BrowserContext, lab: Lab, theme: str
) -> None:
    offers = (RuleOffer("Always allow it", "Edit(a.py)"),)
    asked = Question(tool_call(title="Edit", kind="edit", content=(EDIT,)), OPTIONS, offers=offers)
    notebook = card(context, lab, asked, "vscode.ipynb", BOX.format(asked=dumps(asked)))
    page, boxed = notebook.page, notebook.output(0).locator(".copilot-boxed")
    page.evaluate(WEAR, VS_CODE[theme])  # before it is drawn, as there
    notebook.run(1)
    expect(boxed).to_contain_text("return 'one'")
    found = findings(page, ".copilot-boxed")
    for opener in ("Always allow ▾", "Deny and say why…"):
        notebook.button(0, opener).hover()
        found += findings(page, ".copilot-boxed")
        notebook.button(0, opener).click()
        expect(notebook.button(0, "Back")).to_be_visible()
        found += findings(page, ".copilot-boxed")
        page.keyboard.press("Escape")
    colours = boxed.locator(".copilot-quiet").evaluate_all(WORN)  # axe does not judge these buttons
    assert (found, colours) == ([], [f"rgb{tuple(bytes.fromhex(VS_CODE[theme][1][1:]))}"])


# -- questions -------------------------------------------------------------------------------------------------------


def test_a_question_is_announced_named_and_reached_by_a_key(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "key.ipynb", f"demo: shell {ABOUT}\nsay Over.", "x", *["pass\n" * 40] * 3)
    page = notebook.page
    notebook.run(0, wait=False)
    expect(page.locator(".copilot-announcer")).to_have_text(f"demo agent asks: Run this command? {ABOUT}")
    for name in ("Allow once", "Deny", "Deny and say why…"):
        expect(notebook.button(0, name)).to_have_accessible_name(f"{name}: {ABOUT}")

    notebook.cell(4).locator(".cm-content").click()
    page.keyboard.press("Alt+q")
    card = notebook.output(0).locator(".copilot-question")
    expect(card).to_be_focused()
    expect(card).to_be_in_viewport()
    expect(card).to_have_accessible_name(f"demo agent asks: Run this command? {ABOUT}")
    page.keyboard.press("Space")
    expect(card).to_be_visible()
    page.keyboard.press("Tab")
    expect(notebook.button(0, "Allow once")).to_be_focused()
    page.keyboard.press("Enter")
    expect(notebook.output(0)).to_contain_text("allowed by you")
    expect(page.locator(".copilot-announcer")).to_be_empty()
