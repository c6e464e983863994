"""The question card in JupyterLab: what is seen at which width, what can be pressed when, what is left in the end."""

import re
from pickle import dumps

import nbformat
import pytest
from copilot_kernel.acp.messages import Diff, Location, PermissionOption
from copilot_kernel.conversation.excerpt import Excerpt
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.question import Question, RuleOffer
from copilot_kernel.rendering.answers import WRITE_RULE
from copilot_kernel.rendering.question import NO_BUTTONS, OPEN, QuestionView
from msgspec.structs import replace
from playwright.sync_api import Browser, BrowserContext, Locator, expect

from .lab import Lab, Notebook, exactly
from .test_hostile import TOGETHER

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

WIDE, NARROW = 1400, 480
OPTIONS = (
    PermissionOption("once", "Allow once", "allow_once"),
    PermissionOption("always", "Always allow", "allow_always"),
    PermissionOption("no", "Deny", "reject_once"),
)
EDIT = ToolCall(
    1, 1, "x", "Edit", kind="edit", content=(Diff("a.py", "one\ntwo\nthree\n" * 3, "one\nTWO\nthree\n" * 3),)
)
HARNESS = """
from asyncio import get_running_loop, wrap_future
from contextlib import nullcontext
from types import SimpleNamespace
from IPython.display import display
from copilot_kernel.output.questions import Card
from copilot_kernel.views.permission_question import PermissionQuestion
from copilot_widgets.answers import GUARD_SECONDS
from pickle import loads

def show(question, root="/project"):
    asked = PermissionQuestion(question, root)
    cell = SimpleNamespace(owning=nullcontext, guard_seconds=GUARD_SECONDS)
    loop = get_running_loop()  # a click comes in the thread of a subshell
    card = Card(cell, asked.make_widgets(lambda: loop.call_soon_threadsafe(card.guard)))
    wrap_future(asked.answer).add_done_callback(lambda done: print("ANSWERED", done.result()))
    display(asked.static, raw=True)
    display(card.widget.bundle() | {"text/plain": ""}, raw=True)
    card.guard()
    return card
"""
"""In a Python kernel: a card by itself, for questions that no agent can ask."""


def question(call: ToolCall = EDIT, **more: object) -> Question:
    return Question(call, OPTIONS, **more)  # type: ignore[arg-type]


def card(context: BrowserContext, lab: Lab, asked: Question, name: str, *below: str) -> Notebook:
    """The card of `asked` in a notebook, above cells `below`, ready to be pressed."""
    lab.write(name, f"{HARNESS}\ncard = show(loads({dumps(asked)!r}))", *below, kernel="python3")
    notebook = Notebook.open(context, lab, name)
    notebook.run(0)
    notebook.cell(0).evaluate("cell => cell.querySelector('.jp-Cell-inputWrapper').remove()")
    expect(notebook.button(0, re.compile("^Allow once"))).to_be_enabled()
    return notebook


# -- the change -------------------------------------------------------------------------------------------------------

DIFF = Diff("/project/src/a b.py", "two\n", "TWO\n")
PLACED = replace(EDIT, content=(DIFF,), excerpts={DIFF: Excerpt(8, "one\n", "three\n")})
SELECTED = """lines => { getSelection().selectAllChildren(lines); return getSelection().toString(); }"""


def check_change(notebook: Notebook, output: Locator) -> None:
    """Line numbers are seen and not copied, and the name of the file opens it."""
    lines = output.locator("pre").first
    assert lines.text_content() == " 8   one\n 9 - two\n 9 + TWO\n10   three\n"
    assert lines.evaluate(SELECTED).strip("\n") == "one\ntwo\nTWO\nthree"
    output.get_by_role("link", name="src/a b.py").click()
    expect(notebook.page.get_by_role("tab", name="a b.py")).to_be_visible()


def write_source(lab: Lab) -> None:
    (lab.root / "src").mkdir(exist_ok=True)
    (lab.root / "src" / "a b.py").write_text("TWO\n")


def test_a_change_is_numbered_copied_without_numbers_and_links_to_its_file(context: BrowserContext, lab: Lab) -> None:
    write_source(lab)
    notebook = card(context, lab, question(PLACED), "card-live.ipynb")
    expect(notebook.output(0).get_by_text(OPEN)).to_be_hidden()
    check_change(notebook, notebook.output(0))


def test_so_it_is_in_a_saved_notebook_that_is_not_trusted(context: BrowserContext, lab: Lab) -> None:
    write_source(lab)
    path = lab.write("card-saved.ipynb", "What was asked")
    saved = nbformat.read(path, 4)
    view = {"application/vnd.jupyter.widget-view+json": {"version_major": 2, "version_minor": 0, "model_id": "gone"}}
    bundle = QuestionView(question(PLACED, why="No rule allows it."), "/project").bundle
    both = (bundle, {**view, "text/plain": NO_BUTTONS})
    saved.cells[0].outputs = [nbformat.v4.new_output("display_data", data=each) for each in both]
    nbformat.write(saved, path)
    notebook = Notebook.open(context, lab, path.name)
    output = notebook.output(0)
    expect(output.get_by_text(OPEN)).to_be_visible()
    expect(output.get_by_text(NO_BUTTONS)).to_be_visible()
    expect(output).to_contain_text("No rule allows it.")
    assert output.locator("style, button").count() == 0
    check_change(notebook, output)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_of_the_card_is_wider_than_the_page(context: BrowserContext, lab: Lab, width: int) -> None:
    word = "x" * 400
    call = ToolCall(1, 1, "x", word, kind="execute", raw_input={"command": f"{word} --{word}", word: word})
    asked = question(call, why=word, rules=(word,), offers=(RuleOffer(word, word),), folder=f"/{word}")
    notebook = card(context, lab, asked, f"card-long-{width}.ipynb")
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.command("application:toggle-left-area")
    wider = """output => [...output.querySelectorAll('*')].filter(
      each => each.getBoundingClientRect().right > output.getBoundingClientRect().right + 1).length"""
    notebook.page.wait_for_function(f"output => ({wider})(output) === 0", arg=notebook.output(0).element_handle())


# -- pressing --------------------------------------------------------------------------------------------------------


def test_an_answer_that_allows_can_be_pressed_only_after_a_moment(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "card-guard.ipynb", "demo: ask\nsay Over.")
    watch = """() => { window.seen = []; const look = () => {
      const all = [...document.querySelectorAll('.copilot-question button')].filter(b => b.offsetParent);
      const isOff = b => b.disabled || getComputedStyle(b).pointerEvents === 'none';
      if (all.length) window.seen.push([document.timeline.currentTime, all.map(b => [b.textContent, isOff(b)])]);
      requestAnimationFrame(look);
    }; look(); }"""
    notebook.page.evaluate(watch)
    notebook.run(0, wait=False)
    allow = notebook.button(0, "Allow once")
    notebook.page.wait_for_function(
        "() => window.seen.at(-1)?.[1].some(([name, off]) => name === 'Allow once' && !off)"
    )
    seen = [(at, dict(buttons)) for at, buttons in notebook.page.evaluate("() => window.seen")]
    complete = [(at, buttons) for at, buttons in seen if "Deny" in buttons and "Allow once" in buttons]
    assert not any(buttons["Deny"] for _, buttons in complete)
    released = next(at for at, buttons in complete if not buttons["Allow once"])
    """In the page's own time, which stands still while it is busy."""
    assert released - complete[0][0] > 600
    assert notebook.page.evaluate("() => document.activeElement.tagName") != "BUTTON"
    allow.dblclick()
    expect(notebook.output(0)).to_contain_text("Over.")
    expect(notebook.output(0)).to_contain_text("allowed by you")


def test_a_no_with_a_reason_by_keyboard(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "card-reason.ipynb", "demo: ask\nsay Over.")
    notebook.run(0, wait=False)
    opener = notebook.button(0, "Deny and say why…")
    opener.press("Enter")
    field = notebook.output(0).get_by_label("Tell the agent what to do instead", exact=True)
    expect(field).to_be_focused()
    expect(notebook.button(0, "Allow once")).to_be_hidden()
    notebook.page.keyboard.type("Not")
    for key in ("Alt+Enter", "Escape"):
        notebook.page.keyboard.press(key)
    expect(opener).to_be_focused()
    notebook.page.keyboard.press("Enter")
    expect(field).to_be_focused()
    notebook.page.keyboard.type("today.")
    notebook.page.keyboard.press("Shift+Enter")
    expect(notebook.output(0)).to_contain_text(re.compile(r"denied by you: “Not\s+today\.”"))


FRAME = """output => {
  const card = output.querySelector('.copilot-question');
  const pane = card.closest('.jp-WindowedPanel-outer, .jp-Notebook').getBoundingClientRect();
  const form = [...card.querySelectorAll('.copilot-entry')].find(each => each.offsetParent)?.getBoundingClientRect();
  const [lines] = [...output.querySelectorAll('.copilot-asked pre')].reverse();
  const below = form ? pane.bottom - form.bottom : 0;
  return [lines.getBoundingClientRect().bottom - pane.top, below].map(Math.round);
}"""
"""Of a card: how far below the top of the page its diff ends, and how far above the bottom its open form does."""


@pytest.mark.parametrize("height", [560, 700])
def test_a_form_that_opens_is_shown_whole_and_the_page_scrolls_no_further(
    context: BrowserContext, lab: Lab, height: int
) -> None:
    diff = Diff("/project/a.py", None, "".join(f"line{number} = {number}\n" for number in range(60)))
    asked = question(replace(EDIT, content=(diff,)))
    notebook = card(context, lab, asked, f"card-scroll-{height}.ipynb", *["pass\n" * 40] * 2)
    notebook.page.set_viewport_size({"width": 1280, "height": height})
    notebook.output(0).locator("details").first.evaluate("each => { each.open = true; }")
    opener = notebook.button(0, "Deny and say why…")
    opener.evaluate("each => each.closest('.copilot-question').scrollIntoView({ block: 'end' })")
    opener.click()
    field = notebook.output(0).get_by_label("Tell the agent what to do instead", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("placeholder", "Enter sends")
    end, below = notebook.output(0).evaluate(FRAME)
    assert (end > 200, abs(below) <= 1) == (True, True)
    notebook.page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    assert notebook.output(0).evaluate(FRAME)[0] == end


def test_a_rule_is_changed_doubted_and_saved(context: BrowserContext, lab: Lab) -> None:
    call = ToolCall(1, 1, "x", "List", kind="execute", raw_input={"command": "ls -l"})
    notebook = card(
        context,
        lab,
        question(call, offers=(RuleOffer("Always allow it", "Bash(ls -l)"),), folder="/project"),
        "card-rule.ipynb",
    )
    output, save = notebook.output(0), notebook.button(0, "Add rule")
    notebook.button(0, "Always allow ▾").click()
    field = output.get_by_label("Rule", exact=True)
    expect(notebook.button(0, "Back")).to_be_focused()
    expect(field).to_be_hidden()
    notebook.button(0, WRITE_RULE).click()
    expect(field).to_be_focused()
    expect(field).to_have_value("Bash(ls -l)")
    expect(save).to_be_disabled()
    notebook.page.keyboard.press("Escape")
    expect(notebook.button(0, "Always allow ▾")).to_be_focused()
    notebook.button(0, "Always allow ▾").click()
    for rule, words in (("Bash(", "is not a rule"), ("Bash(cat *)", "does not allow this call")):
        field.fill(rule)
        save.click()
        expect(output.get_by_role("alert")).to_contain_text(words)
    field.fill("Bash(ls *)")
    save.dblclick()
    expect(output).to_contain_text("rule='Bash(ls *)', keep='session'")
    expect(output).to_contain_text(re.compile("^(?!.*ANSWERED.*ANSWERED)", re.DOTALL))


# -- hostile text ----------------------------------------------------------------------------------------------------


def hostile(text: str) -> Question:
    """`text` in every field, those too that we fill."""
    call = ToolCall(
        1, 1, text, text, kind=text, raw_input={"command": text, "cwd": text, text: text},
        locations=(Location(text),), content=(Diff(text, text, f"{text}{text}"),),
    )  # fmt: skip
    return Question(call, options(text), why=text, rules=(text,), offers=(RuleOffer(text, text),), folder=text)


def calm(text: str) -> Question:
    """`text` around a call for which a rule is offered."""
    call = ToolCall(1, 1, "x", "List", kind="execute", raw_input={"command": "ls"})
    return Question(call, options(text), why=text, is_routine=True, rules=(text,), offers=(RuleOffer(text, text),))


def options(text: str) -> tuple[PermissionOption, ...]:
    return (
        PermissionOption(text, "Allow once", "allow_once"),
        *(PermissionOption(text, text, kind) for kind in ("reject_always", text)),
    )


NEVER = "script, img, iframe, form, object, embed, link, video, svg"
ELSEWHERE = """display => [...display.querySelectorAll('a')].filter(link => link.origin !== location.origin).length"""


def test_hostile_text_in_every_field_is_only_text(chromium: Browser, context: BrowserContext, lab: Lab) -> None:
    cells = (
        f"cards = [show(each) for each in loads({dumps([made(text) for text in TOGETHER.values()])!r})]"
        for made in (hostile, calm)
    )
    notebook = Notebook.new(
        context, lab, "card-fields.ipynb", *(f"{HARNESS}\n{cell}" for cell in cells), kernel="python3"
    )
    dialogs: list[str] = []
    notebook.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for cell in (0, 1):
        notebook.run(cell)
        for name in TOGETHER:
            words = re.compile(rf"{name}\D")
            standing = notebook.answers(cell, words)
            standing.scroll_into_view_if_needed()
            for display in (standing, notebook.question(cell, words)):
                assert display.locator(NEVER).count() == 0
                assert display.evaluate(ELSEWHERE) == 0
                assert "\u202e" not in display.inner_text()
            expect(standing.get_by_role("button", name=re.compile("^Allow once"))).to_be_enabled()
    for name in TOGETHER:
        standing = notebook.answers(1, re.compile(rf"{name}\D"))
        standing.get_by_role("button", name="Always allow ▾").click()
        standing.get_by_role("button", name=WRITE_RULE).click()
        save = standing.get_by_role("button").filter(has_text=exactly("Add rule"))
        expect(save).to_be_enabled()
        save.click()
        expect(standing.get_by_role("alert")).to_contain_text(name)
        assert standing.locator("script, img, iframe, form, a, svg").count() == 0
    assert notebook.page.evaluate("() => window.hostile ?? 0") == 0
    assert dialogs == []
