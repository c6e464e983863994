"""Turns where nobody looks, where several windows look, and where the kernel begins again."""

import re

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import BOTH, Lab, Notebook, toasts
from .story import END, LOAD, Story, ask

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

GATE = "import asyncio, pathlib\nwhile not pathlib.Path({!r}).exists(): await asyncio.sleep(0.02)\n%copilot {}"
LOOK_AWAY = """hidden => {
  Object.defineProperty(document, 'hidden', {get: () => hidden, configurable: true});
  document.dispatchEvent(new Event('visibilitychange'));
}"""
KERNEL = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
USE_KERNEL = "id => window.jupyterapp.shell.currentWidget.sessionContext.changeKernel({id})"
ALLOW = "Allow once"
MARKED = ".lm-TabBar-tab.copilot-waiting"


def insertion(source: str, *, after: str | None = None) -> str:
    """A prompt that inserts a cell."""
    return ask(("insert_cell", {"source": source} | ({"after": after} if after else {})))


def in_front(story: Story, lab: Lab, name: str, *cells: str) -> Notebook:
    """Another notebook of the page, with the story's behind it."""
    lab.write(name, *(cells or ("x = 1",)), kernel="python3")
    story.notebook.command("docmanager:open", path=lab.path(name))
    expect(story.page.locator(".jp-NotebookPanel.lm-mod-hidden")).to_have_count(1)
    story.notebook.wait_ready()
    return story.notebook


# -- where nobody looks ---------------------------------------------------------------------------------------------


def test_a_question_behind_another_notebook_is_notified_until_it_is_seen_or_answered(
    context: BrowserContext, lab: Lab, loud: None
) -> None:
    cells = (GATE.format("first-gate", "demo: ask One"), GATE.format("second-gate", "demo: ask Two"))
    story = Story.begin(context, lab, "behind.ipynb", *cells)
    page, notebook = story.page, story.notebook
    notebook.run(1, wait=False)
    in_front(story, lab, "front.ipynb")
    (lab.root / "first-gate").touch()
    expect(toasts(page)).to_contain_text("demo agent asks in behind.ipynb: Use this tool? One")
    expect(page.locator(MARKED)).to_contain_text("behind.ipynb")
    status = page.locator(".copilot-status")
    expect(status).to_have_text("demo agent: 1 question waiting")
    status.click()
    expect(notebook.button(1, ALLOW)).to_be_in_viewport()
    expect(toasts(page)).to_have_count(0)
    notebook.button(1, ALLOW).click()
    story.ended(1)
    expect(page.locator(MARKED)).to_have_count(0)

    notebook.run(2, wait=False)
    in_front(story, lab, "front.ipynb")
    (lab.root / "second-gate").touch()
    expect(toasts(page)).to_contain_text("demo agent asks in behind.ipynb: Use this tool? Two")
    other = Notebook(context.new_page())
    other.page.goto(lab.address("behind.ipynb"))
    other.button(2, ALLOW).click()
    expect(toasts(page)).to_have_count(0)
    expect(page.locator(MARKED)).to_have_count(0)
    expect(status).not_to_contain_text("waiting")


@BOTH
def test_a_question_in_a_hidden_tab_is_notified_and_marks_the_tab_until_somebody_looks(
    context: BrowserContext, lab: Lab, loud: None, classic: bool
) -> None:
    story = Story.begin(context, lab, f"hidden-{classic}.ipynb", "%copilot demo: ask One", classic=classic)
    title = story.page.title()
    story.page.evaluate(LOOK_AWAY, True)
    story.notebook.run(1, wait=False)
    expect(toasts(story.page)).to_contain_text(f"demo agent asks in hidden-{classic}.ipynb: Use this tool? One")
    expect(story.page).to_have_title(f"● {title}")
    story.notebook.wait_saved()
    expect(story.page).to_have_title(f"● {title}")
    story.page.evaluate(LOOK_AWAY, False)
    expect(toasts(story.page)).to_have_count(0)
    assert story.page.title() == title
    story.notebook.button(1, ALLOW).click()
    story.ended(1)


def test_the_end_of_a_long_turn_behind_another_notebook_is_notified_if_the_user_wants_that(
    context: BrowserContext, lab: Lab, loud: None
) -> None:
    with lab.setting("copilot-kernel/plugin", notifyTurns=True, longTurn=0.5):
        story = Story.begin(context, lab, "long.ipynb", GATE.format("long-gate", "demo: slow 6 0.1"))
    story.notebook.run(1, wait=False)
    in_front(story, lab, "front-of-long.ipynb")
    (lab.root / "long-gate").touch()
    expect(toasts(story.page)).to_contain_text(re.compile(r"demo agent has finished in long.ipynb \(\d+ s\)\."))
    toasts(story.page).get_by_role("button", name="Show").click()
    expect(story.notebook.output(1)).to_contain_text(END)


# -- several windows and notebooks ----------------------------------------------------------------------------------


def test_of_two_windows_the_agent_works_in_the_one_that_asked(context: BrowserContext, lab: Lab) -> None:
    prompt = insertion("inserted = 1")
    story = Story.begin(context, lab, "windows.ipynb", prompt)
    other = Story(Notebook.open(context, lab, "windows.ipynb"))
    story.notebook.run(1, wait=False)
    story.allow(1, "Insert a code cell")
    story.ended(1)
    assert story.sources() == [LOAD, prompt, "inserted = 1"]
    assert other.sources() == [LOAD, prompt]
    other.notebook.run(1, wait=False)
    other.allow(1, "Insert a code cell")
    other.ended(1)
    for window in (story, other):
        assert window.sources() == [LOAD, prompt, "inserted = 1"]
        expect(window.page.locator(".jp-Dialog")).to_have_count(0)


def test_of_two_notebooks_on_one_kernel_the_agent_works_in_the_one_that_asked(
    context: BrowserContext, lab: Lab
) -> None:
    first, second = insertion("first = 1"), insertion("second = 2")
    story = Story.begin(context, lab, "first.ipynb", first, first)
    kernel = story.page.evaluate(KERNEL)
    in_front(story, lab, "second.ipynb", second)
    story.page.evaluate(USE_KERNEL, kernel)
    story.notebook.run(0, wait=False)
    story.page.locator(".copilot-ask").get_by_role("button", name=ALLOW).click()  # widgets are shown in the first one
    story.ended(0)
    assert story.sources() == [second, "second = 2"]
    story.notebook.command("docmanager:open", path=lab.path("first.ipynb"))
    assert story.sources() == [LOAD, first, first]
    story.notebook.run(1, wait=False)
    story.allow(1, "Insert a code cell")
    story.ended(1)
    assert story.sources() == [LOAD, first, "first = 1", first]


# -- a new kernel ---------------------------------------------------------------------------------------------------


def test_the_agent_restarts_the_kernel_and_the_conversation_continues(context: BrowserContext, lab: Lab) -> None:
    story = Story.begin(
        context, lab, "restart.ipynb", "x = 1", ask(("restart_kernel", {})), "x", "%copilot demo: remember"
    )
    notebook = story.notebook
    notebook.run(1)
    notebook.run(2, wait=False)
    story.allow(2, "Restart the kernel")
    story.rests()
    notebook.run(3)
    expect(notebook.output(3)).to_contain_text("NameError")
    notebook.run(0, 4)
    expect(notebook.output(4)).to_contain_text("restart_kernel")


# -- our own kernel -------------------------------------------------------------------------------------------------


@BOTH
def test_in_a_copilot_notebook_the_agent_reads_cells_and_inserts_some(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    inserted = {"source": "## Next steps", "type": "markdown"}
    prompt = ask(("read_notebook", {}), ("insert_cell", inserted), ("list_variables", {})).partition("\n")[2]
    notebook = Notebook.new(context, lab, f"own-{classic}.ipynb", prompt, "A later prompt", classic=classic)
    notebook.run(0, wait=False)
    notebook.answers(0, "Insert a markdown cell").get_by_role("button", name=ALLOW).click()
    expect(notebook.output(0)).to_contain_text("The notebook has no tool list_variables.")
    expect(notebook.output(0)).to_contain_text("A later prompt")
    expect(notebook.page.get_by_role("heading", name="Next steps")).to_be_visible()
    notebook.wait_status("idle")
