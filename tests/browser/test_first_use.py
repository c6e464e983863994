"""What a newcomer does in JupyterLab and Notebook 7, from the launcher to the reloaded notebook."""

import json
import os
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.errors import SEE_ABOVE
from playwright.sync_api import BrowserContext, expect

from .axe import findings
from .lab import BOTH, Lab, Notebook

pytestmark = pytest.mark.browser

DEAD_WIDGET = ".jp-Notebook .jp-OutputArea .jupyter-widgets, .jp-Notebook .jp-OutputArea .jupyter-button"


def outputs(path: Path, index: int) -> list[dict[str, Any]]:
    """The saved outputs of a code cell."""
    return list(json.loads(path.read_text())["cells"][index]["outputs"])


def plain(path: Path, index: int) -> str:
    """What a saved cell says in plain text."""
    texts = [output["data"]["text/plain"] for output in outputs(path, index) if "data" in output]
    return "\n".join("".join(text) for text in texts)


def test_from_the_launcher_to_an_answer_that_streams(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook(context.new_page())
    page = notebook.page
    page.goto(lab.address())
    page.locator(".jp-LauncherCard[title='Copilot'], .jp-LauncherCard:has-text('Copilot')").first.click()
    notebook.wait_ready()
    page.locator(".jp-Cell .cm-content").first.click()
    os.mkfifo(gate := lab.root / "gate")
    page.keyboard.type(f"demo: say First words.\\n\\n\nunasked cat {gate}\nsay Last words.", delay=1)
    page.keyboard.press("Shift+Enter")
    expect(notebook.output(0)).to_contain_text("First words.")
    notebook.wait_status("busy")
    expect(notebook.output(0)).not_to_contain_text("Last words.")
    gate.write_text("")
    expect(notebook.output(0)).to_contain_text("Last words.")
    notebook.wait_status("idle")


FITS = "shown => shown.scrollWidth <= shown.clientWidth"


def test_from_the_list_of_files_to_an_answer_and_a_question_on_a_small_screen(
    context: BrowserContext, lab: Lab
) -> None:
    files = context.new_page()
    files.goto(f"{lab.url}/tree/{lab.folder}?token={lab.token}")
    files.get_by_text("New", exact=True).first.click()
    with context.expect_page() as opening:
        files.get_by_role("menuitem", name="Copilot", exact=True).first.click()
    notebook = Notebook(opening.value)
    notebook.wait_ready()
    notebook.page.set_viewport_size({"width": 480, "height": 900})
    notebook.cell(0).locator(".cm-content").click()
    notebook.page.keyboard.type("demo: say First words.\\n\\n\ncreate seven.txt one\\ntwo\nsay Done.", delay=1)
    notebook.page.keyboard.press("Shift+Enter")
    expect(notebook.output(0)).to_contain_text("First words.")
    allow = notebook.button(0, "Allow once")
    expect(allow).to_be_in_viewport()
    assert notebook.output(0).locator(".copilot-question").evaluate(FITS)
    expect(notebook.output(0).locator(".jp-OutputArea-output").first).to_have_css("padding-left", "8px")
    assert not (lab.root / "seven.txt").exists()
    allow.click()
    expect(notebook.output(0)).to_contain_text("Done.")
    expect(notebook.output(0)).to_contain_text("allowed by you")
    assert (lab.root / "seven.txt").read_text().split() == ["one", "two"]


def test_a_question_is_answered_while_the_cell_runs_and_the_saved_notebook_reads_well(
    context: BrowserContext, lab: Lab
) -> None:
    path = lab.write("question.ipynb", "demo: create note.txt one\\ntwo\nsay Done.", "demo: say Next.")
    notebook = Notebook.open(context, lab, "question.ipynb")
    notebook.run(0, 1, wait=False)
    allow = notebook.button(0, "Allow once")
    expect(allow).to_be_visible()
    expect(notebook.output(0)).to_contain_text("note.txt")
    notebook.wait_status("busy")
    assert not (lab.root / "note.txt").exists()
    allow.click()
    expect(notebook.output(0)).to_contain_text("allowed by you")
    expect(notebook.output(0)).to_contain_text("Done.")
    expect(notebook.output(1)).to_contain_text("Next.")
    assert (lab.root / "note.txt").read_text().split() == ["one", "two"]

    notebook.save()
    assert "allowed by you" in plain(path, 0)
    assert "note.txt · +2" in plain(path, 0)
    assert "widgets" not in json.loads(path.read_text())["metadata"]
    assert all("application/vnd.jupyter.widget-view+json" not in o.get("data", {}) for o in outputs(path, 0))

    notebook.page.reload()
    notebook.wait_ready()
    expect(notebook.output(0)).to_contain_text("allowed by you")
    expect(notebook.output(0)).to_contain_text("note.txt")
    expect(notebook.page.locator(DEAD_WIDGET)).to_have_count(0)


def test_stop_cancels_the_turn_and_the_cells_behind_it(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(
        context, lab, "stop.ipynb", "demo: say Working.\\n\\n\nask", "demo: say Never said.", "demo: say Alive."
    )
    notebook.run(0, 1, wait=False)
    expect(notebook.button(0, "Allow once")).to_be_visible()
    notebook.page.locator(
        "jp-button[data-command='notebook:interrupt-kernel'], [data-command='notebook:interrupt-kernel']"
    ).first.click()
    expect(notebook.output(0)).to_contain_text("■ Stopped by you after")
    expect(notebook.output(0).locator("[data-mime-type='application/vnd.jupyter.stderr']")).to_have_count(0)
    expect(notebook.button(0, "Allow once")).to_have_count(0)
    notebook.wait_status("idle")
    expect(notebook.output(1)).to_have_text("")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("Alive.")


def test_a_missing_agent_is_a_card_and_no_second_error_and_the_demo_agent_is_a_click_away(
    context: BrowserContext, lab: Lab
) -> None:
    lab.add_kernel("agentless", COPILOT_KERNEL_AGENT="no-such-agent --acp")
    path = lab.write("missing.ipynb", "demo: say Here.", kernel="agentless")
    notebook = Notebook.open(context, lab, "missing.ipynb")
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("no-such-agent")
    expect(notebook.output(0).get_by_text("Failed: see above")).to_be_hidden()
    notebook.wait_status("idle")
    notebook.save()
    assert [each["traceback"] for each in outputs(path, 0) if each["output_type"] == "error"] == [[SEE_ABOVE]]
    assert "Try the demo agent" not in path.read_text()
    expect(notebook.button(0, "Open a terminal")).to_have_count(0)  # there is no command to type
    notebook.button(0, "Try the demo agent").click()
    expect(notebook.output(0)).to_contain_text("Here.")
    notebook.wait_status("idle")


def test_an_empty_notebook_shows_a_missing_agent_instead_of_suggestions_until_one_is_found(
    context: BrowserContext, lab: Lab
) -> None:
    lab.add_kernel("absent", COPILOT_KERNEL_AGENT="no-such-agent --acp")
    path = lab.write("absent.ipynb", "", kernel="absent")
    before = path.read_text()
    notebook = Notebook.open(context, lab, path.name)
    card, suggested = notebook.page.locator(".copilot-absent"), notebook.page.locator(".copilot-suggestions > button")
    expect(card).to_contain_text("The agent's program no-such-agent was not found")
    expect(suggested.filter(visible=True)).to_have_count(0)
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        notebook.theme(theme)
        assert findings(notebook.page, ".copilot-absent") == []
    notebook.cell(0).locator(".cm-content").fill("a")
    expect(card).to_have_count(0)
    notebook.page.keyboard.press("Backspace")
    notebook.save()
    assert json.loads(path.read_text())["cells"] == json.loads(before)["cells"]
    card.get_by_role("button", name="Try the demo agent").click()
    expect(suggested.filter(visible=True)).to_have_count(3)
    expect(card).to_have_count(0)
    suggested.first.click()
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("demo")
    expect(notebook.output(0)).not_to_contain_text("not found")


@BOTH
def test_one_button_signs_in_and_runs_the_cell_again(context: BrowserContext, lab: Lab, classic: bool) -> None:
    kernel = f"signed-out-{'classic' if classic else 'lab'}"
    home = str(lab.root / "home")
    lab.add_kernel(kernel, COPILOT_KERNEL_DEMO="signed-out,auth=agent+meta", COPILOT_KERNEL_DEMO_HOME=home)
    cells = "demo: say Here.", "demo: say Again."
    notebook = Notebook.new(context, lab, "login.ipynb", *cells, kernel=kernel, classic=classic)
    notebook.run(0, wait=False)
    sign_in, output = notebook.button(0, "Sign in and run again"), notebook.output(0)
    expect(sign_in).to_be_enabled()
    expect(output.locator(".mod-primary")).to_have_text(re.compile("^Sign in and run again"))
    expect(output.get_by_text("Sign in now?")).to_be_hidden()  # the card says it
    expect(notebook.button(0, "Open a terminal")).to_be_hidden()
    output.get_by_text("Ways to sign in").click()
    expect(notebook.button(0, "Open a terminal")).to_be_visible()
    for theme in () if classic else ("JupyterLab Dark", "JupyterLab Light"):
        notebook.theme(theme)
        assert findings(notebook.page, ".copilot-failure", ".copilot-asked", ".copilot-question") == []
    notebook.button(0, "Not now").click()
    expect(output).to_contain_text("Not signed in.")
    notebook.wait_status("idle")
    notebook.run(1, wait=False)
    notebook.button(1, "Sign in and run again").click()
    expect(notebook.output(1)).to_contain_text("Again.")
    notebook.wait_status("idle")


SCREEN = """() => {
  const buffer = window.jupyterapp?.shell.currentWidget?.content._term?.buffer.active;
  const line = (_, row) => buffer.getLine(row).translateToString(true);
  return buffer && Array.from({length: buffer.length}, line).join('');
}"""
"""What stands in the terminal in front."""
CARD = """from copilot_kernel.errors import AgentNotFound
from copilot_kernel.rendering.failure import render_failure
display(render_failure(AgentNotFound("None", {hint!r})), raw=True)
1 / 0"""


@BOTH
def test_a_command_of_a_card_is_typed_into_a_terminal_and_not_run(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    hints = (f"Install it:\n    touch {lab.root}/run\n    true", "In a cell:\n    %agent demo")
    cells = (CARD.format(hint=hint) for hint in hints)
    notebook = Notebook.new(context, lab, "typed.ipynb", *cells, kernel="python3", classic=classic)
    notebook.run(0, 1)
    expect(notebook.output(0)).to_contain_text("ZeroDivisionError")  # of the user's own, so it is shown
    for name in ("Open a terminal", "Ask again"):
        expect(notebook.button(1, name)).to_have_count(0)
    assert findings(notebook.page, ".copilot-failure") == []
    opening = context.expect_page() if classic else nullcontext()
    with opening as opened:
        notebook.button(0, "Open a terminal").click()
    page = opened.value if opened else notebook.page
    page.wait_for_function(f"() => ({SCREEN})()?.includes('touch {lab.root}/run')")
    assert not (lab.root / "run").exists()


def test_who_refused_a_projects_files_is_asked_again_by_a_click(context: BrowserContext, lab: Lab) -> None:
    lab.add_kernel("careful", COPILOT_KERNEL_AGENT=os.environ["COPILOT_KERNEL_DEMO_COMMAND"])
    path = lab.write("refused.ipynb", "demo: say Here.", kernel="careful")
    (lab.root / "opencode.json").write_text('{"plugin": ["./x"]}')
    notebook = Notebook.open(context, lab, path.name)
    notebook.run(0, wait=False)
    notebook.button(0, "Don't start").click()
    notebook.button(0, "Ask again").click()
    notebook.button(0, "Trust these files").click()
    expect(notebook.output(0)).to_contain_text("Here.")
    notebook.wait_status("idle")


def test_a_click_gives_the_agent_what_the_projects_file_names(context: BrowserContext, lab: Lab) -> None:
    path = lab.write("variables.ipynb", "demo: say one", "demo: say two")
    (lab.root / ".env").write_text("PATH=${PATH}\n")
    notebook = Notebook.open(context, lab, path.name)
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("Not given to the agent")
    expect(notebook.output(0)).to_contain_text("1 variable of .env (PATH)")
    notebook.wait_status("idle")
    notebook.button(0, "Give them").click()
    expect(notebook.output(0)).to_contain_text("Given to the agent")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("two")
    expect(notebook.output(1)).not_to_contain_text("Not given")
