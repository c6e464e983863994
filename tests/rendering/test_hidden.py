"""Hidden and direction characters outside of questions: shown as codes wherever they could deceive, never dropped."""

import pytest
from copilot_kernel.acp.messages import Diff, Location, PlanEntry, ResourceLink, TerminalContent, TextBlock
from copilot_kernel.conversation.model import Message, Notice, Plan, ToolCall
from copilot_kernel.conversation.text import GrowingText
from copilot_kernel.errors import AgentExited
from copilot_kernel.rendering.entry import render
from copilot_kernel.rendering.failure import render_failure
from copilot_kernel.rendering.markdown import to_html
from copilot_kernel.rendering.output import ansi_text
from copilot_kernel.rendering.plain import visible_text
from copilot_kernel.rendering.report import Report, render_lines, render_report

from .allowed import problems, text_of

BAD = "a\u202eb\u200bc\u2066d"
SHOWN = "a⟨U+202E⟩b⟨U+200B⟩c⟨U+2066⟩d"
UNIFIED = f"--- a/x\n+++ b/x\n@@ -1 +1 @@ {BAD}\n-one\n+{BAD}"


def call(**more) -> ToolCall:
    return ToolCall(1, 1, "t", status="failed", **{"title": "Do it", **more})


ENTRIES = {
    "title": call(title=BAD),
    "title that is the command": call(title=BAD, raw_input={"command": BAD}),
    "command": call(raw_input={"command": f"echo {BAD}"}),
    "path": call(locations=(Location(f"/p/{BAD}"),), raw_input={"path": f"/p/{BAD}"}),
    "change": call(content=(Diff("/p/x", "old", BAD),)),
    "unchanged line": call(content=(Diff("/p/x", f"{BAD}\nold", f"{BAD}\nnew"),)),
    "path of a change": call(content=(Diff(f"/p/{BAD}", "a", "b"),)),
    "unified diff": call(raw_input={"path": "/p/x", "diff": UNIFIED}),
    "diff that cannot be read": call(raw_input={"diff": f"@@ -1 +1 @@\n?{BAD}"}),
    "input": call(raw_input={"query": BAD}),
    "output": call(content=(TextBlock(BAD),)),
    "terminal": call(content=(TerminalContent("t1"),), meta={"terminal_output": {"terminal_id": "t1", "data": BAD}}),
    "decision": call(decision=f"denied by you: “{BAD}”"),
    "link": call(content=(ResourceLink(f"file:///{BAD}", BAD),)),
    "notice about a call": Notice(1, 1, "warning", f"Completed what was rejected: {BAD}", about="refused t"),
    "raw notice": Notice(1, 1, "info", "note", raw={"x": BAD}),
    "notice": Notice(1, 1, "info", BAD),
    "description of a notice": Notice(1, 1, "info", "note", BAD),
    "step of a plan": Plan(1, 1, (PlanEntry(BAD),)),
    "description of a plan": Plan(1, 1, (), BAD),
    "answer": Message(1, 1, "agent", GrowingText(f"A *{BAD}*.")),
    "thought": Message(1, 1, "thought", GrowingText(BAD)),
    "code in an answer": Message(1, 1, "agent", GrowingText(f"Use `{BAD} = 1`.\n\n```python\n{BAD} = 1\n```")),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_what_hides_is_shown_as_a_code(entry):
    bundle = render(entry, "/p")
    for text in (text_of(bundle["text/html"]), bundle["text/plain"]):
        assert "⟨U+202E⟩b⟨U+200B⟩c⟨U+2066⟩" in text
        assert not set("\u202e\u200b\u2066") & set(text)
    assert not set("\u202e\u200b\u2066") & set(bundle["text/html"])
    assert problems(bundle["text/html"]) == []


def test_entities_hide_nothing():
    html = to_html("a&#x202e;b [x](https://ok.example 'a&#x202e;b') $x&#x202e;$")
    assert (html.count("⟨U+202E⟩"), "\u202e" in html) == (2, False)


ORDINARY = {
    "emoji with a presentation selector": "❤\ufe0f\u200d🔥",
    "Persian": "می\u200cخواهم",
    "French colon": "réponse\u00a0: non\u202f!",
    "thousands": "10\u2009000\u2007%",
    "private use": "\ue0b0\U000f0001",
}
DECEPTIVE = {
    "joiner between ASCII letters": "a\u200db",
    "joiner at the end of a line": "é\u200c\n",
    "unassigned and ignorable": "\u2065\ufff0\U000e0080",
    "tag": "\U000e0041",
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_code_changes_and_output_keep_the_characters_of_every_language(text):
    answer = render(Message(1, 1, "agent", GrowingText(f"```text\n{text}\n```")))
    prose = render(Message(1, 1, "agent", GrowingText(text)))
    change = render(call(content=(Diff("/p/x", "old", text),)))
    output = render(call(content=(TextBlock(text),)))
    for bundle in (answer, prose, change, output):
        assert text in text_of(bundle["text/html"])
        assert text in bundle["text/plain"]


@pytest.mark.parametrize("text", DECEPTIVE.values(), ids=DECEPTIVE)
def test_code_shows_codes_for_what_no_language_needs(text):
    shown = visible_text(text, gaps=False)
    assert "⟨U+" in shown
    assert shown.replace("\n", "").isprintable()


def test_last_words_and_reports_are_shown_so_too():
    card = render_failure(AgentExited("It ended", stderr=f"\x1b[31m{BAD}\x1b[0m"))
    report = render_report(Report("Sessions", ("Id", "Title"), [("1", BAD)]))
    log = render_lines("Log", [BAD])
    for bundle in (card, report, log):
        assert SHOWN in text_of(bundle["text/html"])
        assert SHOWN in bundle["text/plain"]


@pytest.mark.parametrize(("text", "shown"), [
    ("bell\x07 null\x00 delete\x7f", "bell⟨U+0007⟩ null⟨U+0000⟩ delete⟨U+007F⟩"),
    ("\x1b[31mred\x1b[0m\x1b[2K", "red"),
    ("10%\x08\x08\x0820%", "20%"),
    ("a\x1b[0m\x08b\n\x08c", "ab\nc"),
    ("a\n\n\n\n\n\nb", "a\n\n\n\n\n\nb"),
    ("née 大 😀 ✔️", "née 大 😀 ✔️"),
])  # fmt: skip
def test_output_of_a_terminal(text, shown):
    assert ansi_text(text) == shown
