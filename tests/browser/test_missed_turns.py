"""Turns that go on while no page looks: the next page shows what became of them, in a real JupyterLab."""

import random
import re
import urllib.request
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Route, WebSocketRoute, expect

from ..jupyter.front_end import until
from ..limits import LIMIT
from .lab import BOTH, Lab, Notebook
from .story import LOAD, Story
from .stranger import NAMES, SCRIPTS, TEXT, ran, strangers_cell

pytestmark = pytest.mark.browser

ALLOW = "Allow once"
MARKED = ".lm-TabBar-tab.copilot-waiting"
STATUS = ".copilot-status"
RESTARTED = "The kernel was restarted or shut down before this turn ended."
OUTPUTS = """index => {
  const { model } = window.jupyterapp.shell.currentWidget.content.widgets[index];
  return [model.executionCount, model.outputs.toJSON()];
}"""
ELSEWHERE = "This turn is shown in another page."
LOST = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.connectionStatus !== 'connected'"
KERNEL = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
SOURCES = (
    "() => window.jupyterapp.shell.currentWidget.content.widgets.map(({ model }) => model.sharedModel.getSource())"
)
LATER = ("wait {later}", "say Later.")
READ = """async () => {
  const { path } = window.jupyterapp.shell.currentWidget.context;
  await window.jupyterapp.serviceManager.contents.get(path);
}"""
DURATION = re.compile(r" · \d+(\.\d+)? s\b")


def gate(lab: Lab, name: str = "go") -> Path:
    """A file that the agent waits for; it is no part of the project."""
    return lab.root.with_name(f"{lab.root.name}-{name}")


def turn(lab: Lab, *more: str) -> str:
    """A prompt: the agent answers, waits for a gate, asks, does it, and goes on with `more`."""
    steps = ("demo: say First.\\n\\n", "wait {go}", "create made.txt yes", "say Done.", *more)
    return "\n".join(steps).format(go=gate(lab), later=gate(lab, "later"))


def reload(notebook: Notebook, *, saved: bool = False) -> None:
    """Load the page again, as it is on disk."""
    if saved:
        notebook.save()
    notebook.page.on("dialog", lambda dialog: dialog.accept())
    notebook.page.reload()
    notebook.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first.wait_for()


Kept = tuple[int, list[tuple[str, Any]]]
Undisturbed = Callable[..., Kept]


def kept(notebook: Notebook, index: int = 0) -> Kept:
    """Prompt number and outputs of a cell: the text of each, and the conversation's record of the turn."""
    notebook.page.wait_for_function(
        "index => window.jupyterapp.shell.currentWidget.content.widgets[index].model.executionCount", arg=index
    )
    count, outputs = notebook.page.evaluate(OUTPUTS, index)
    texts = [DURATION.sub("", output["data"]["text/plain"]) for output in outputs]
    records = [output["metadata"].get("copilot_kernel", {}) for output in outputs]
    for record in records:
        record.pop("session_id", None)
    return count, [(text, record) for text, record in zip(texts, records, strict=True) if text]


def asking(context: BrowserContext, lab: Lab, name: str, *cells: str) -> Notebook:
    """A notebook whose first cell runs and has asked."""
    gate(lab).touch()
    notebook = Notebook.new(context, lab, name, *cells)
    notebook.run(0, wait=False)
    expect(notebook.button(0, ALLOW)).to_be_enabled()
    return notebook


def restart(lab: Lab, kernel: str) -> None:
    """Restart a kernel as no page would see it."""
    request = urllib.request.Request(
        f"{lab.url}/api/kernels/{kernel}/restart", method="POST", headers={"Authorization": f"token {lab.token}"}
    )
    urllib.request.urlopen(request, timeout=LIMIT).close()


@pytest.fixture(scope="module")
def undisturbed(profile: BrowserContext, server: Lab) -> Undisturbed:
    """What `kept` finds of a turn on a page that stays, once for each turn."""
    lab = server.of_test("undisturbed")
    for name in ("go", "later"):
        gate(lab, name).touch()

    @cache
    def outputs(*more: str) -> Kept:
        notebook = Notebook.new(profile, lab, f"undisturbed-{len(more)}.ipynb", turn(lab, *more))
        notebook.run(0, wait=False)
        notebook.button(0, ALLOW).click()
        found = kept(notebook)
        notebook.page.close()
        (lab.root / "made.txt").unlink()
        return found

    return outputs


@pytest.mark.long
def test_whenever_it_is_loaded_again_the_page_shows_what_became_of_the_turn(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed
) -> None:
    dice, later = random.Random(41), gate(lab, "later")
    more = ("wait {later}", "slow 20 0.05")
    expected = undisturbed(*more)
    for number in range(20):
        for path in (gate(lab), later, lab.root / "made.txt"):
            path.unlink(missing_ok=True)
        notebook = Notebook.new(context, lab, f"random-{number}.ipynb", turn(lab, *more))
        notebook.run(0, wait=False)
        acts = [gate(lab).touch, notebook.button(0, ALLOW).click, later.touch]
        acts.insert(dice.randrange(4), partial(reload, notebook, saved=dice.random() < 0.5))
        for act in acts:
            notebook.page.wait_for_timeout(dice.uniform(0, 300))
            act()
        assert kept(notebook) == expected, f"round {number}"
        notebook.page.close()


@BOTH
def test_a_page_that_was_loaded_again_while_the_answer_came_shows_it_to_its_end(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed, classic: bool
) -> None:
    expected = undisturbed()
    notebook = Notebook.new(context, lab, "streaming.ipynb", turn(lab), classic=classic)
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("First.")
    reload(notebook)
    expect(notebook.output(0)).to_contain_text("First.")
    expect(notebook.cell(0).locator(".jp-InputPrompt")).to_have_text("[*]:")
    gate(lab).touch()
    notebook.button(0, ALLOW).click()
    assert kept(notebook) == expected
    assert (lab.root / "made.txt").read_text() == "yes"


def test_a_page_that_was_loaded_again_with_an_open_question_shows_what_its_answer_did(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed
) -> None:
    expected = undisturbed()
    notebook = asking(context, lab, "asking.ipynb", turn(lab))
    notebook.wait_saved()
    reload(notebook)
    expect(notebook.page.locator(MARKED)).to_have_count(1)
    expect(notebook.page.locator(STATUS)).to_contain_text("1 question waiting")
    notebook.button(0, ALLOW).click()
    assert kept(notebook) == expected
    expect(notebook.page.locator(MARKED)).to_have_count(0)
    expect(notebook.page.locator(STATUS)).not_to_contain_text("waiting")
    assert (lab.root / "made.txt").read_text() == "yes"


def test_a_click_counts_and_is_seen_although_the_page_is_loaded_again_before_its_effect(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed
) -> None:
    expected = undisturbed(*LATER)
    notebook = asking(context, lab, "clicked.ipynb", turn(lab, *LATER))
    notebook.button(0, ALLOW).click()
    until((lab.root / "made.txt").exists, "the effect of the click", limit=LIMIT)
    reload(notebook)
    expect(notebook.output(0)).to_contain_text("allowed by you")
    gate(lab, "later").touch()
    assert kept(notebook) == expected


def test_a_page_that_has_lost_its_connection_writes_what_it_has_missed(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed
) -> None:
    expected = undisturbed()
    sockets: list[WebSocketRoute] = []
    is_lost = False

    def connect(socket: WebSocketRoute) -> None:
        if is_lost:
            socket.close()
        else:
            sockets.extend((socket, socket.connect_to_server()))

    notebook = Notebook(context.new_page())
    notebook.page.route_web_socket(re.compile("/channels"), connect)
    lab.write("lost.ipynb", turn(lab))
    notebook.page.goto(lab.address("lost.ipynb"))
    notebook.wait_ready()
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("First.")
    is_lost = True
    for socket in sockets:
        socket.close()
    notebook.page.wait_for_function(LOST)
    gate(lab).touch()
    is_lost = False
    notebook.button(0, ALLOW).click()
    assert kept(notebook) == expected
    assert (lab.root / "made.txt").read_text() == "yes"


def test_a_tab_that_was_open_before_the_first_turn_goes_on_when_the_one_that_asked_is_gone(
    context: BrowserContext, lab: Lab
) -> None:
    gate(lab).touch()
    first = Notebook.new(context, lab, "both.ipynb", turn(lab))
    second = Notebook(context.new_page())
    second.page.goto(lab.address("both.ipynb"))
    second.wait_ready()
    first.run(0, wait=False)
    expect(first.button(0, ALLOW)).to_be_enabled()
    first.page.close()
    second.button(0, ALLOW).click()
    expect(second.output(0)).to_contain_text("Done.")


def test_of_two_tabs_only_the_one_that_asked_writes_and_the_other_goes_on_without_it(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed
) -> None:
    expected = undisturbed(*LATER)
    first = asking(context, lab, "tabs.ipynb", turn(lab, *LATER))
    first.wait_saved()
    second = Notebook(context.new_page())
    second.page.goto(lab.address("tabs.ipynb"))
    expect(second.button(0, ALLOW)).to_be_enabled()
    saved = second.page.evaluate(OUTPUTS, 0)
    first.button(0, ALLOW).click()
    expect(first.output(0)).to_contain_text("Done.")
    assert second.page.evaluate(OUTPUTS, 0) == saved
    first.page.close()  # its last message may be lost
    second.page.evaluate("() => dispatchEvent(new Event('focus'))")
    expect(second.output(0)).to_contain_text("Done.")
    gate(lab, "later").touch()
    assert kept(second) == expected


def test_a_kernel_that_was_restarted_while_no_page_was_there_is_said(context: BrowserContext, lab: Lab) -> None:
    notebook = asking(context, lab, "restarted.ipynb", turn(lab))
    notebook.wait_saved()
    kernel = notebook.page.evaluate(KERNEL)
    notebook.page.goto("about:blank")
    restart(lab, kernel)
    notebook.page.goto(lab.address("restarted.ipynb"))
    expect(notebook.output(0)).to_contain_text(RESTARTED)
    notebook.save()
    reload(notebook)
    expect(notebook.output(0)).to_contain_text(RESTARTED)
    assert notebook.output(0).inner_text().count(RESTARTED) == 1
    assert not (lab.root / "made.txt").exists()


def test_a_turn_that_ended_while_no_page_was_there_is_complete(context: BrowserContext, lab: Lab) -> None:
    ended = gate(lab, "ended")
    prompt = f"demo: say First.\\n\\n\nwait {gate(lab)}\nunasked touch {ended}\nsay Done."
    gate(lab).touch()
    notebook = Notebook.new(context, lab, "stays.ipynb", prompt)
    notebook.run(0)
    expected = kept(notebook)
    gate(lab).unlink()
    ended.unlink()
    notebook.page.close()
    notebook = Notebook.new(context, lab, "away.ipynb", prompt)
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("First.")
    notebook.page.goto("about:blank")
    gate(lab).touch()
    until(ended.exists, "the end of the turn", limit=LIMIT)
    notebook.page.goto(lab.address("away.ipynb"))
    expect(notebook.output(0)).to_contain_text("Done.")
    assert kept(notebook) == expected
    notebook.save()
    reload(notebook)
    expect(notebook.output(0)).to_contain_text("Done.")


def untitled(context: BrowserContext, lab: Lab, *prompts: str) -> Notebook:
    """A notebook that is new, in which prompts were typed and run, and which has shown something."""
    notebook = Notebook(context.new_page())
    notebook.page.goto(lab.address())
    notebook.page.locator(".jp-LauncherCard:has-text('Copilot')").first.click()
    notebook.wait_ready()
    notebook.page.locator(".jp-Cell .cm-content").first.click()
    for prompt in prompts:
        notebook.page.keyboard.type(prompt)
        notebook.page.keyboard.press("Shift+Enter")
    expect(notebook.output(0)).to_contain_text("First.")
    return notebook


def test_prompts_that_were_never_saved_are_put_back_with_their_turns(context: BrowserContext, lab: Lab) -> None:
    prompts = [f"demo: say First.\\n\\n\nwait {gate(lab)}\nsay Done.", "demo: say Next."]
    with lab.setting("@jupyterlab/docmanager-extension/plugin", autosave=False):
        notebook = untitled(context, lab, *prompts)
        errors = list[str]()
        notebook.page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        reload(notebook)
        expect(notebook.output(0)).to_contain_text("First.")
        expect(notebook.cell(0).locator(".jp-InputPrompt")).to_have_text("[*]:")
        gate(lab).touch()
        expect(notebook.output(1)).to_contain_text("Next.")
        expect(notebook.output(0)).to_contain_text("Done.")
        assert notebook.page.evaluate(SOURCES) == [*prompts, ""]
        assert [kept(notebook, index)[0] for index in (0, 1)] == [1, 2]
        assert errors == []


def test_where_jupyterlab_saves_by_itself_a_turn_that_starts_is_saved_without_a_dialog(
    context: BrowserContext, lab: Lab
) -> None:
    notebook = untitled(context, lab, f"demo: say First.\\n\\n\nwait {gate(lab)}")
    path = lab.root.parent / notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
    until(lambda: "demo: say First" in path.read_text(), "the prompt is saved", limit=LIMIT)
    expect(notebook.page.locator(".jp-Dialog")).to_have_count(0)
    gate(lab).touch()


def test_a_save_of_the_users_waits_for_that_of_a_turn_that_starts(context: BrowserContext, lab: Lab) -> None:
    cells = ("demo: say zero", f"demo: say First.\\n\\n\nwait {gate(lab)}")
    notebook = Notebook.new(context, lab, "twice.ipynb", *cells)
    notebook.run(0)  # the page knows the kernel
    notebook.save()
    written = list[tuple[Route, APIResponse]]()

    def hold(route: Route) -> None:
        """The server has written the file, and the page does not know it yet."""
        if route.request.method == "PUT" and not written:
            written.append((route, route.fetch()))
        else:
            route.continue_()

    notebook.page.route("**/api/contents/**", hold)
    notebook.run(1, wait=False)
    expect(notebook.output(1)).to_contain_text("First.")
    until(lambda: notebook.page.evaluate("() => true") and written, "the prompt is saved", limit=LIMIT)
    notebook.start_saving()
    notebook.page.evaluate(READ)
    route, response = written[0]
    route.fulfill(response=response)
    notebook.page.wait_for_function("() => window.saved")
    assert "First." in (lab.root / "twice.ipynb").read_text()
    gate(lab).touch()


@BOTH
def test_a_page_hides_the_answer_of_a_prompt_that_is_run_again_in_another_page_and_says_so(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    first = Notebook.new(context, lab, "again.ipynb", "demo: say Answer.")
    first.run(0)
    first.save()
    second = Notebook(context.new_page())
    second.page.goto(lab.address("again.ipynb", classic=classic))
    second.wait_ready()
    expect(second.output(0)).to_contain_text("Answer.")
    first.run(0)
    expect(second.cell(0)).to_contain_text(ELSEWHERE)
    expect(second.output(0)).to_be_hidden()
    second.run(0)
    expect(second.output(0)).to_contain_text("Answer.")
    expect(second.cell(0)).not_to_contain_text(ELSEWHERE)
    expect(first.cell(0)).to_contain_text(ELSEWHERE)


def test_nothing_is_written_into_a_cell_that_was_changed_meanwhile_but_offered(
    context: BrowserContext, lab: Lab, undisturbed: Undisturbed
) -> None:
    expected = undisturbed()
    notebook = asking(context, lab, "changed.ipynb", turn(lab), "demo: say Another.")
    notebook.wait_saved()
    notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource('demo: say Mine.')"
    )
    notebook.save()
    reload(notebook)
    notebook.page.get_by_role("button", name="Show what it did").click()
    notebook.button(2, ALLOW).click()
    assert kept(notebook, 2) == expected
    assert notebook.page.evaluate(SOURCES) == ["demo: say Mine.", "demo: say Another.", turn(lab)]


def test_the_same_in_a_python_notebook(context: BrowserContext, lab: Lab) -> None:
    prompt = f"%%copilot\n{turn(lab)}"
    story = Story.begin(context, lab, "python.ipynb", prompt)
    notebook = story.notebook
    notebook.run(1, wait=False)
    gate(lab).touch()
    expect(notebook.button(1, ALLOW)).to_be_enabled()
    notebook.save()
    reload(notebook)
    expect(notebook.page.locator(STATUS)).to_contain_text("1 question waiting")
    notebook.button(1, ALLOW).click()
    story.ended(1)
    assert kept(notebook, 1)[0] == 2
    expect(notebook.output(1)).to_contain_text("allowed by you")
    expect(notebook.output(1)).to_contain_text("Done.")


def test_cells_that_were_queued_on_the_page_before_are_shown_by_the_next(context: BrowserContext, lab: Lab) -> None:
    notebook = asking(context, lab, "queued.ipynb", turn(lab), "demo: say Next.")
    notebook.run(1, wait=False)
    notebook.save()
    reload(notebook)
    notebook.button(0, ALLOW).click()
    expect(notebook.output(1)).to_contain_text("Next.")
    assert [kept(notebook, index)[0] for index in (0, 1)] == [1, 2]


# -- a stranger's notebook, whose saved outputs run scripts if they are trusted --------------------------------------

TRUST_ALL = """() => {
  for (const { model } of window.jupyterapp.shell.currentWidget.content.widgets) model.trusted = true;
}"""
TYPES = """index => {
  const { model } = window.jupyterapp.shell.currentWidget.content.widgets[index];
  return model.outputs.toJSON().map(({ data }) => Object.keys(data ?? {}));
}"""


def says(lab: Lab) -> str:
    return f"demo: say First.\\n\\n\nwait {gate(lab)}\nsay Done."


def lose_saves(route: Route) -> None:
    if route.request.method == "PUT":
        route.abort()
    else:
        route.fallback()


def run_unsaved(context: BrowserContext, lab: Lab, name: str, count: int | None, kernel: str = "copilot") -> Notebook:
    """A stranger's notebook whose cell runs, and whose file stays as it was."""
    magic = "%%copilot\n" if kernel == "python3" else ""
    lab.write(name, strangers_cell(magic + says(lab), count), LOAD, kernel=kernel)
    notebook = Notebook.open(context, lab, name)
    expect(notebook.output(0)).to_contain_text(TEXT)
    context.route(re.compile("/api/contents/"), lose_saves)
    if magic:
        notebook.run(1)
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("First.")
    return notebook


def test_the_scripts_of_a_stranger_run_in_a_cell_that_is_trusted(context: BrowserContext, lab: Lab) -> None:
    """Else the tests below would show nothing."""
    lab.write("trusted.ipynb", strangers_cell("1"))
    notebook = Notebook.open(context, lab, "trusted.ipynb")
    expect(notebook.output(0)).to_contain_text(TEXT)
    assert ran(notebook.page) == []
    notebook.page.evaluate(TRUST_ALL)
    until(lambda: sorted({*ran(notebook.page)}) == NAMES, "the scripts", limit=LIMIT)


@pytest.mark.parametrize(("kernel", "count"), [("copilot", 7), ("copilot", None), ("python3", 7), ("python3", None)])
def test_the_page_trusts_no_output_that_it_has_not_received(
    context: BrowserContext, lab: Lab, kernel: str, count: int | None
) -> None:
    notebook = run_unsaved(context, lab, "reloaded.ipynb", count, kernel)
    reload(notebook)
    expect(notebook.output(0)).to_contain_text("First.")
    gate(lab).touch()
    expect(notebook.output(0)).to_contain_text("Done.")
    assert ran(notebook.page) == []
    scripts = [
        types for types in notebook.page.evaluate(TYPES, 0) if {"application/javascript", "text/markdown"} & {*types}
    ]
    assert scripts == []
    if (kernel, count) != ("python3", None):  # else they may be those of this run
        expect(notebook.output(0)).not_to_contain_text(TEXT)


def test_no_output_that_the_page_has_not_received_is_trusted_beside_an_offered_turn(
    context: BrowserContext, lab: Lab
) -> None:
    notebook = run_unsaved(context, lab, "offered.ipynb", 7)
    lab.write("offered.ipynb", strangers_cell("demo: say Mine."), LOAD)
    reload(notebook)
    notebook.page.get_by_role("button", name="Show what it did").click()
    gate(lab).touch()
    expect(notebook.output(1)).to_contain_text("Done.")
    expect(notebook.output(0)).to_contain_text(TEXT)
    assert ran(notebook.page) == []


def test_the_note_about_a_lost_turn_trusts_nothing(context: BrowserContext, lab: Lab) -> None:
    lab.write("lost.ipynb", strangers_cell(says(lab), None))
    notebook = Notebook.open(context, lab, "lost.ipynb")
    expect(notebook.output(0)).to_contain_text(RESTARTED)
    expect(notebook.output(0)).to_contain_text(TEXT)
    assert ran(notebook.page) == []


@pytest.mark.parametrize("others", [[], [strangers_cell("1")]], ids=["trusted", "not trusted"])
def test_what_other_code_of_the_run_has_shown_stays_and_only_its_text_unless_it_was_trusted(
    context: BrowserContext, lab: Lab, others: list[dict[str, Any]]
) -> None:
    shows = f"display({{'text/plain': 'mine', 'text/markdown': {SCRIPTS['text/markdown']!r}}}, raw=True)"
    source = f"print('printed')\n{shows}\nget_ipython().run_cell_magic('copilot', '', {says(lab)!r})  # %copilot"
    story = Story.begin(context, lab, "others.ipynb", source, *others)
    notebook = story.notebook
    notebook.run(1, wait=False)
    expect(notebook.output(1)).to_contain_text("First.")
    notebook.save()
    reload(notebook)
    gate(lab).touch()
    story.ended(1)
    expect(notebook.output(1)).to_contain_text("printed")
    kept = ["text/plain"] if others else ["text/markdown", "text/plain"]
    assert sorted(notebook.page.evaluate(TYPES, 1)[1]) == kept
    assert {*ran(notebook.page)} == (set() if others else {"markdown"})
