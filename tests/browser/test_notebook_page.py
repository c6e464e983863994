"""The front-end extension: what a kernel does to the notebook on the page, in JupyterLab and in Notebook 7."""

from typing import Any

import nbformat
import pytest
from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.question import Question, RuleOffer
from copilot_kernel.rendering.answers import WRITE_RULE, answers_to
from copilot_kernel.rendering.question import QuestionView
from msgspec import to_builtins
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import BrowserContext, expect

from .driven import DrivenNotebook
from .lab import BOTH, Lab, toasts
from .stranger import TEXT, ran, strangers_cell

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

TOP_OF_ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCell.node.getBoundingClientRect().top"
SCROLL_TO = "index => void window.jupyterapp.shell.currentWidget.content.scrollToItem(index)"
OPTIONS = (
    PermissionOption("allow", "Allow once", "allow_once"),
    PermissionOption("deny", "Deny", "reject_once"),
    PermissionOption("always", "Always allow", "allow_always"),
)
COMMAND = ToolCall(1, 1, "x", "it", kind="execute", raw_input={"command": "it"})
ANSWERS = to_builtins(
    answers_to(QuestionView(Question(COMMAND, OPTIONS, offers=(RuleOffer("Always allow it", "Bash(it)", "settings"),))))
)
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@BOTH
def test_cells_are_read_inserted_edited_moved_deleted_and_run(context: BrowserContext, lab: Lab, classic: bool) -> None:
    with DrivenNotebook(context, lab, f"all-{classic}", "x = 1", "y = 2", classic=classic) as driven:
        x, y = driven.ids()
        hello = driven.heard()[0]
        app = "Jupyter Notebook" if classic else "JupyterLab"
        assert {**hello, "session": "", "version": ""} == {
            "hello": 1, "session": "", "path": lab.path(driven.path.name), "app": app, "version": "", "widgets": True,
            "fresh": True,
        }  # fmt: skip
        below = driven.call("insert", type="code", source="z = 3", after=driven.id)["result"]["id"]
        top = driven.call("insert", type="markdown", source="# Title", after=None)["result"]["id"]
        assert driven.call("edit", id=x, expected="x = 1", source="x = 10") == {"result": {}}
        assert driven.call("move", id=below, expected="z = 3", after=y) == {"result": {}}
        deleted = driven.call("delete", id=y, expected="y = 2")["result"]["cell"]
        assert (deleted["id"], deleted["source"], deleted["outputs"]) == (y, "y = 2", [])
        expect(driven.page.get_by_role("heading", name="Title")).to_be_visible()

        assert driven.call("run", id=below, expected="z = 3", run="token") == {"result": {}}
        driven.wait_heard({"run": "token", "id": below, "code": "z = 3"})
        shown = driven.notebook.output(2)
        expect(shown).to_contain_text("ran z = 3")
        expect(shown).to_contain_text("a figure")
        expect(driven.notebook.cell(2).locator(".jp-InputPrompt")).to_have_text("[*]:")
        assert driven.call("delete", id=below, expected="z = 3")["error"]["kind"] == "invalid"
        driven.event("ran", id=below, execution_count=7)
        expect(driven.notebook.cell(2).locator(".jp-InputPrompt")).to_have_text("[7]:")

        read = driven.call("read", outputs=True, limit=4)["result"]
        title, driver, edited, ran = read["cells"]
        assert (driver["id"], driver["running"]) == (driven.id, True)
        assert title == {"id": top, "type": "markdown", "source": "# Title", "execution_count": None, "running": False}
        assert (edited["source"], edited["execution_count"]) == ("x = 10", None)
        stream, figure = ran.pop("outputs")
        assert stream["text"].startswith("ran\n…")
        assert figure["data"]["text/plain"].startswith("a f\n…")
        assert ran == {"id": below, "type": "code", "source": "z = 3", "execution_count": 7, "running": False}
        assert [cell["id"] for cell in driven.call("read", ids=[below, x])["result"]["cells"]] == [below, x]
        assert driven.call("clear", ids=[below]) == {"result": {}}
        expect(shown).to_have_text("")
    driven.notebook.save()
    saved = nbformat.read(driven.path, as_version=4)
    nbformat.validate(saved)
    assert [cell["metadata"] for cell in saved["cells"]] == [{}] * 4
    assert set(saved["metadata"]) == {"kernelspec", "language_info"}


def test_what_is_done_to_cells_of_a_stranger_trusts_no_output_that_they_have(context: BrowserContext, lab: Lab) -> None:
    with DrivenNotebook(context, lab, "stranger", strangers_cell("1"), strangers_cell("2")) as driven:
        first, second = driven.ids()
        deleted = driven.call("delete", id=first, expected="1")["result"]["cell"]
        driven.call("insert", deleted=deleted, after=second)
        driven.call("delete", id=second, expected="2")
        driven.call("insert", deleted={**deleted, "id": "kept-by-the-kernel"}, after=first)
        driven.call("move", id=first, expected="1", after="kept-by-the-kernel")
        for index in (1, 2):
            expect(driven.notebook.output(index)).to_contain_text(TEXT)
        driven.call("run", id=first, expected="1", run="token")
        expect(driven.notebook.output(2)).to_contain_text("ran 1")
        expect(driven.notebook.output(2)).not_to_contain_text(TEXT)
        expect(driven.notebook.output(1)).to_contain_text(TEXT)
        assert ran(driven.page) == []


ACTS: dict[str, dict[str, Any]] = {
    "edit": {"source": "data = 2"},
    "move": {},
    "run": {"run": "token"},
    "show": {},
    "insert": {"type": "code", "source": "more = 2"},
}


def test_what_is_done_in_a_collapsed_section_or_to_a_hidden_input_can_be_seen(
    context: BrowserContext, lab: Lab
) -> None:
    headings = [new_markdown_cell(source, metadata={"jp-MarkdownHeadingCollapsed": True}) for source in ("# A", "## B")]
    hidden = new_code_cell("data = 1", metadata={"jupyter": {"source_hidden": True}})
    cells = (*headings, hidden, new_markdown_cell("# C"))
    with DrivenNotebook(context, lab, "collapsed", *cells) as driven:
        _, above, cell, _ = driven.ids()
        for act, arguments in ACTS.items():
            driven.notebook.command("notebook:collapse-all-headings")
            expect(driven.notebook.cell(1)).to_be_hidden()
            place = {"after": above} if act in ("insert", "move") else {}
            whole = {} if act == "insert" else {"id": cell, "expected": dict(driven.cells())[cell]}
            assert "result" in driven.call(act, **whole, **arguments, **place)
            expect(driven.notebook.cell(1)).to_be_visible()
            if act in ("edit", "run"):
                expect(driven.notebook.cell(1).locator(".jp-InputArea-editor")).to_be_visible()
                driven.notebook.command("notebook:hide-all-cell-code")


def test_nothing_is_done_to_a_cell_that_changed_or_is_missing_or_may_not_be_changed(
    context: BrowserContext, lab: Lab
) -> None:
    with DrivenNotebook(context, lab, "refused", "x = 1", "y = 2") as driven:
        x, y = driven.ids()
        driven.notebook.cell(1).locator(".cm-content").click()
        driven.page.keyboard.type("# mine ")
        refused = driven.calls(
            ("edit", {"id": x, "expected": "x = 1", "source": "x = 2"}),
            ("delete", {"id": x, "expected": "x = 1"}),
            ("move", {"id": x, "expected": "x = 1", "after": y}),
            ("run", {"id": x, "expected": "x = 1", "run": "token"}),
            ("read", {"ids": ["gone"]}),
            ("insert", {"type": "code", "source": "1", "after": "gone"}),
            ("insert", {"type": "html", "source": "1"}),
            ("dance", {}),
            ("edit", {"id": y, "expected": "y = 2", "source": "y = 3"}),
        )
        kinds = [reply["error"]["kind"] if "error" in reply else reply["result"] for reply in refused]
        assert kinds == ["changed"] * 4 + ["missing"] * 2 + ["invalid"] * 2 + [{}]
        before = driven.sources()
        assert sorted(before[0]) == sorted("# mine x = 1")
        assert before[1] == "y = 3"
        assert not any("run" in each for each in driven.heard())


def test_of_cells_that_run_or_wait_only_the_one_that_asks_is_edited(context: BrowserContext, lab: Lab) -> None:
    with DrivenNotebook(context, lab, "queued", "x = 1", "y = 2") as driven:
        x, y = driven.ids()
        driven.notebook.run(1, wait=False)
        source = driven.call("read", ids=[driven.id])["result"]["cells"][0]["source"]
        asks = {"id": driven.id, "expected": source, "source": f"{source} # more"}
        edits = [
            {"id": x, "expected": "x = 1", "source": "x = 2", "asking": driven.id},
            asks,
            {**asks, "asking": driven.id},
            {"id": y, "expected": "y = 2", "source": "y = 3", "asking": driven.id},
        ]
        replies = driven.calls(*(("edit", each) for each in edits))
        errors = [{"kind": "invalid", "message": f"Cell {id} runs now or waits to run."} for id in (x, driven.id)]
        assert replies == [*({"error": each} for each in errors), {"result": {}}, {"result": {}}]
        assert driven.sources() == ["x = 1", "y = 3"]


@pytest.mark.parametrize("make", [new_code_cell, new_markdown_cell])
def test_a_cell_with_other_line_ends_is_edited(context: BrowserContext, lab: Lab, make: Any) -> None:
    name = f"line-ends-{make.__name__}"
    with DrivenNotebook(context, lab, name, make("one\r\ntwo\r\nthree"), "last") as driven:
        id, _ = driven.ids()
        for before, after in (("one\r\ntwo\r\nthree", "one\r\ntwo\r\n3"), ("one\r\ntwo\r\n3", "1\n2\n3")):
            assert driven.call("edit", id=id, expected=before, source=after) == {"result": {}}
            read = driven.call("read")["result"]["cells"]
            assert [(cell["id"], cell["source"]) for cell in read if cell["id"] == id] == [(id, after)]
            assert [cell["source"] for cell in read][-1] == "last"
        expect(driven.page.locator(".jp-NotebookPanel:visible .jp-Cell").nth(1)).to_contain_text("1")


def test_a_cell_gets_another_type_in_one_step(context: BrowserContext, lab: Lab) -> None:
    with DrivenNotebook(context, lab, "types", "# Title", "last") as driven:
        id, _ = driven.ids()
        assert driven.call("edit", id=id, expected="# Title", source="# Head", type="markdown") == {
            "result": {"was": "code"}
        }
        expect(driven.page.get_by_role("heading", name="Head")).to_be_visible()
        cell = next(each for each in driven.call("read")["result"]["cells"] if each["id"] == id)
        assert (cell["type"], cell["source"]) == ("markdown", "# Head")
        assert driven.call("edit", id=id, expected="# Head", source="x", type="vega")["error"]["kind"] == "invalid"
        assert driven.call("edit", id=id, expected="# Head", source="x", type="code") == {"result": {"was": "markdown"}}
        for before in (("markdown", "# Head"), ("code", "# Title")):
            driven.notebook.command("notebook:undo-cell-action")
            cell = next(each for each in driven.call("read")["result"]["cells"] if each["id"] == id)
            assert (cell["type"], cell["source"]) == before
    driven.notebook.save()
    nbformat.validate(nbformat.read(driven.path, as_version=4))


def test_each_act_is_one_step_of_undo_of_its_own(context: BrowserContext, lab: Lab) -> None:
    with DrivenNotebook(context, lab, "undo", "x = 1", "y = 2") as driven:
        x, y = driven.ids()
        editor = driven.notebook.cell(1).locator(".cm-content")
        editor.click()
        driven.page.keyboard.press("End")
        driven.page.keyboard.type("23")
        driven.call("edit", id=x, expected="x = 123", source="total = 456")
        driven.page.keyboard.type("78")
        typed = driven.sources()[0]
        assert "78" in typed
        driven.page.keyboard.press("Control+z")
        assert driven.sources()[0] == "total = 456"
        driven.page.keyboard.press("Control+z")
        assert driven.sources()[0] == "x = 123"

        driven.call("insert", type="code", source="one", after=x)
        driven.call("insert", type="code", source="two", after=x)
        driven.call("move", id=y, expected="y = 2", after=x)
        driven.call("delete", id=y, expected="y = 2")
        steps = [["x = 123", "two", "one"]]
        for _ in range(4):
            driven.notebook.command("notebook:undo-cell-action")
            steps.append(driven.sources())
        assert steps == [
            ["x = 123", "two", "one"],
            ["x = 123", "y = 2", "two", "one"],
            ["x = 123", "two", "one", "y = 2"],
            ["x = 123", "one", "y = 2"],
            ["x = 123", "y = 2"],
        ]


def test_typing_goes_on_where_it_was_while_cells_are_inserted_and_moved(context: BrowserContext, lab: Lab) -> None:
    with DrivenNotebook(context, lab, "typing", *["pass\n" * 12] * 6, "") as driven:
        first, *_, last = driven.ids()
        driven.page.evaluate(SCROLL_TO, 7)
        driven.notebook.cell(7).locator(".cm-content").click()
        driven.page.evaluate(DRAWN)
        top = driven.page.evaluate(TOP_OF_ACTIVE)
        for number, letter in enumerate("abcdefghijkl"):
            driven.page.keyboard.type(letter)
            driven.call("insert", type="code", source=f"inserted = {number}", after=first)
        driven.page.wait_for_function(f"top => Math.abs(({TOP_OF_ACTIVE})() - top) < 3", arg=top)
        driven.call("move", id=last, expected="abcdefghijkl", after=first)
        driven.page.keyboard.type("xyz")
        driven.call("show", id=first)
        driven.page.keyboard.type("!")
        assert driven.sources()[1] == "abcdefghijklxyz!"
        cells = driven.sources()
        driven.call("delete", id=last, expected="abcdefghijklxyz!")
        driven.page.keyboard.type("ddx")
        assert driven.sources() == [cells[0], *cells[2:]]


def test_the_end_of_a_turn_and_of_the_kernel_leave_nothing_running(context: BrowserContext, lab: Lab) -> None:
    with DrivenNotebook(context, lab, "ends", "x = 1", "y = 2") as driven:
        x, y = driven.ids()
        status = driven.page.locator(".copilot-status")
        driven.begin()
        expect(status).to_have_text("GitHub Copilot · working")
        driven.call("run", id=x, expected="x = 1", run="one")
        driven.event("turn", state="idle", agent="GitHub Copilot", seconds=1)
        expect(driven.notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[ ]:")
        expect(status).to_have_text("GitHub Copilot")
        driven.event("standing", words="does not ask: mode yolo")
        expect(status).to_have_text("GitHub Copilot · ⚠ does not ask: mode yolo")
        driven.event("standing", words="")
        expect(status).to_have_text("GitHub Copilot")

        driven.call("run", id=y, expected="y = 2", run="two")
        driven.event("ask", key="1", title="Run it?", html="Run it?", answers=ANSWERS)
        expect(driven.page.locator(".copilot-ask")).to_be_visible()
        driven.post(calls=[{"call": 1, "op": "restart", "args": {}}])
        expect(driven.notebook.cell(2).locator(".jp-InputPrompt")).to_have_text("[ ]:")
        expect(driven.page.locator(".copilot-ask")).to_have_count(0)
        expect(status).to_be_hidden()
        driven.notebook.wait_status("idle")
        driven.forget()


# -- questions -----------------------------------------------------------------------------------------------------


def test_a_question_out_of_view_is_notified_until_it_is_answered(context: BrowserContext, lab: Lab, loud: None) -> None:
    with DrivenNotebook(context, lab, "question", *["pass\n" * 20] * 6) as driven:
        cell = driven.ids()[-1]
        page = driven.page
        driven.call("insert", type="code", source="unsaved = True", after=None)
        driven.begin()
        question = {"key": "1", "cell": cell, "title": "Run <b>python</b> -c 'print(1)'"}
        driven.event("questions", waiting=[question, {**question, "key": "1b", "title": "Another"}])
        expect(toasts(page)).to_have_count(2)
        first = toasts(page).filter(has_text="Run <b>python</b> -c 'print(1)'")
        expect(first).to_contain_text("GitHub Copilot asks in question.ipynb")
        expect(page.locator(".jp-mod-dirty")).to_have_count(0)
        expect(page.locator(".jp-Dialog")).to_have_count(0)
        assert "unsaved = True" in driven.path.read_text()
        driven.event("questions", waiting=[])
        expect(toasts(page)).to_have_count(0)

        driven.event("questions", waiting=[{**question, "key": "2"}])
        toasts(page).get_by_role("button", name="Show").click()
        expect(driven.notebook.cell(7)).to_be_in_viewport()
        expect(toasts(page)).to_have_count(0)


@pytest.mark.parametrize(("wanted", "seconds"), [(False, 31), (True, 29)])
def test_the_end_of_a_turn_is_not_notified_unless_that_is_wanted_and_the_turn_was_long(
    context: BrowserContext, lab: Lab, loud: None, wanted: bool, seconds: float
) -> None:
    with (
        lab.setting("copilot-kernel/plugin", notifyTurns=wanted),
        DrivenNotebook(context, lab, f"turn-{wanted}", "x = 1") as driven,
    ):
        question = {"key": "1", "cell": driven.ids()[0], "title": "The next question"}
        driven.notebook.command("terminal:create-new")
        driven.begin()
        driven.event("turn", state="idle", agent="GitHub Copilot", seconds=seconds)
        driven.event("questions", waiting=[question])
        expect(toasts(driven.page)).to_contain_text("The next question")
        toasts(driven.page).get_by_role("button", name="Show").click()


@BOTH
def test_a_question_while_the_kernel_is_blocked_is_asked_on_the_page(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    hostile = "<b>Run it?</b><img src=x onerror='window.hit=1'><script>window.hit=1</script>"
    with DrivenNotebook(context, lab, f"ask-{classic}", "x = 1", classic=classic) as driven:
        page = driven.page
        driven.notebook.cell(1).locator(".cm-content").click()
        driven.event("ask", key="1", title="Run this \u202ecode?", html=hostile, answers=ANSWERS)
        card = page.get_by_role("group", name="Run this ⟨U+202E⟩code?")
        expect(card).to_contain_text("Run it?")
        expect(card.get_by_role("button", name="Allow once: it")).to_be_disabled()
        expect(card.get_by_role("button", name="Deny: it")).to_be_enabled()
        page.keyboard.type("42")
        page.keyboard.press("Enter")
        assert "42" in driven.sources()[0]
        driven.event("ask", key="2", title="And this?", html="And this?", answers=ANSWERS)
        expect(page.locator(".copilot-answer-number")).to_have_text(["1 of 2", "2 of 2"])
        driven.event("answered", key="2")
        expect(page.locator(".copilot-answer-number")).to_have_text([""])
        assert not any("answer" in each for each in driven.heard())
        card.get_by_role("button", name="Allow once").click()
        driven.wait_heard({"answer": "1", "option": 0})
        expect(page.locator(".copilot-asks")).to_have_count(0)
        assert page.evaluate("() => window.hit") is None


def test_a_reason_and_a_rule_are_given_on_the_page(context: BrowserContext, lab: Lab) -> None:
    """What can go wrong with them is tested on the chat page, which has the same cards."""
    with DrivenNotebook(context, lab, "answers", "x = 1") as driven:
        driven.event("ask", key="1", title="This?", html="This?", answers=ANSWERS)
        card = driven.page.locator(".copilot-ask")
        card.get_by_role("button", name="Deny and say why…").click()
        card.get_by_role("textbox", name="Tell the agent what to do instead").fill("No.")
        card.get_by_role("button", name="Deny and send").click()
        driven.wait_heard({"answer": "1", "option": 1, "reason": "No."})
        driven.event("ask", key="2", title="That?", html="That?", answers=ANSWERS)
        card.get_by_role("button", name="Always allow ▾").click()
        card.get_by_text(WRITE_RULE).click()
        card.get_by_role("textbox", name="Rule").fill("Bash(")
        card.get_by_role("button", name="Add rule: it").click()
        driven.wait_heard({"answer": "2", "option": 0, "rule": "Bash("})
        driven.event("refused", key="2", words="“Bash(” is not a rule.")
        expect(card.get_by_role("alert").locator("visible=true")).to_have_text("⚠ “Bash(” is not a rule.")
        card.get_by_role("button", name="Always allow it", exact=True).click()
        driven.wait_heard({"answer": "2", "option": 0, "rule": "Bash(it)", "keep": "settings"})
