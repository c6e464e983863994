"""What is true of every entry, whatever an agent sends in it; messages, plans and notices."""

import json

import pytest
from copilot_kernel.acp.messages import Diff, PermissionOption, PlanEntry
from copilot_kernel.conversation.inputs import commands
from copilot_kernel.conversation.model import Message, Notice, Plan, ToolCall, Unasked
from copilot_kernel.conversation.raw import NOT_JSON
from copilot_kernel.permissions.question import Question, RuleOffer
from copilot_kernel.rendering.entry import render, render_group
from copilot_kernel.rendering.markup import AMBER
from copilot_kernel.rendering.own_tools import NOTICE_OF_READS
from copilot_kernel.rendering.plain import visible_line
from copilot_kernel.rendering.question import QuestionView
from copilot_kernel.rendering.status import render_status
from copilot_kernel.rendering.typed_answer import line_prompt
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ..conversation.test_any_order import TRANSCRIPTS, replayed
from ..limits import examples
from .allowed import problems, text_of
from .hostile import HOSTILE
from .samples import call, entries, said

CONTROLS = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n", "\t"}


def is_fit(bundle: dict[str, str]) -> list[str]:
    """What is wrong with a bundle, whoever sent what is in it."""
    plain = bundle["text/plain"]
    found = problems(bundle.get("text/html", ""))
    json.dumps(bundle, ensure_ascii=False).encode()
    return [*found, *(f"text/plain holds {character!r}" for character in CONTROLS & set(plain))]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_an_agent_is_more_than_text(text):
    wrong = {name: found for name, entry in entries(text).items() if (found := is_fit(render(entry, "/project")))}
    assert wrong == {}


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_question_is_more_than_text(text):
    calls = [entry for name, entry in entries(text).items() if "call" in name]
    wrong = [found for entry in calls if (found := is_fit(QuestionView(Question(entry, ())).bundle))]
    assert wrong == []


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_group_or_the_line_of_a_running_turn_is_more_than_text(text):
    lookups = [call(**{"title": text, "kind": kind, "status": "completed"}) for kind in ("read", "search", "fetch")]
    nested = call(title=text, meta={"github.com/copilot": {"agentId": text}})
    group = [lookups[0], said(text, "thought"), *lookups[1:], *entries(text).values(), nested]
    statuses = [render_status(f"{mark}Running {visible_line(text)} · 2 s") for mark in ("", "? ")]
    assert [
        found
        for each in (render_group(group, lambda each: render(each, "/project")), *statuses)
        if (found := is_fit(each))
    ] == []


@pytest.mark.parametrize("text", HOSTILE)
def test_a_question_in_a_terminal_has_no_control_characters(text):
    options = [PermissionOption(text, text, kind) for kind in ("allow_once", "allow_always", "reject_once", text)]
    for name, entry in entries(text).items():
        if "call" in name:
            question = Question(
                entry, tuple(options), why=text, rules=(text,), offers=(RuleOffer(text, text),), folder=text
            )
            asked = (QuestionView(question).text, line_prompt(question), QuestionView(question).headline)
            assert (CONTROLS | {"\u202e", "\u200b"}) & set("\n".join(asked)) == set(), name


def test_in_a_markdown_export_an_output_with_empty_lines_stays_one_piece_of_html():
    wrong = {name for name, entry in entries("a\n\n \n    b\n\n\nc").items() if _falls_apart(render(entry))}
    assert wrong == set()


def _falls_apart(bundle: dict[str, str]) -> bool:
    tokens = MarkdownIt("commonmark").parse(bundle.get("text/html", ""))
    return sum(token.level == 0 and token.nesting >= 0 for token in tokens) > 1


@settings(max_examples=examples(150), deadline=None)
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_at_all_is_only_text(text):
    wrong = {name: found for name, entry in entries(text).items() if (found := is_fit(render(entry)))}
    assert wrong == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["command", "commands", "cwd", "path", "diff", "content", "contents", "output", "exitCode", "type"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(200), deadline=None)
@given(JSON, JSON, JSON)
def test_any_json_in_the_raw_members_can_be_shown(raw_input, raw_output, meta):
    shown = call(raw_input=raw_input, raw_output=raw_output, meta={"terminal_output": meta, "terminal_exit": meta})
    assert is_fit(render(shown)) == []
    assert is_fit(QuestionView(Question(shown, ())).bundle) == []


def test_json_that_is_nested_too_deeply_is_named():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    bundle = render(call(title="t", status="failed", raw_input={"x": deep}, raw_output=deep))
    assert bundle["text/plain"] == (f"✗ t · failed\n  {NOT_JSON.format('dict')}\n  {NOT_JSON.format('list')}")


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_conversation_can_be_shown_with_every_word(path):
    recorded = replayed(path.stem).entries
    assert [found for entry in recorded if (found := is_fit(render(entry)))] == []
    texts = [str(entry.text) for entry in recorded if isinstance(entry, Message)]
    ran = [command for entry in recorded if isinstance(entry, ToolCall) for command in commands(entry.raw_input)]
    shown = squeezed(render_group(recorded)["text/plain"])
    assert [text for text in (*texts, *ran) if squeezed(text) not in shown] == []


def squeezed(text):
    """Without white space and quotation marks: a thought is indented, a prompt quoted."""
    return "".join(text.replace(">", "").split())


def test_several_entries_share_a_bundle():
    pair = [call(title="one", status="completed"), call(title="two", status="completed")]
    html = [render(entry)["text/html"] for entry in pair]
    assert render_group(pair) == {"text/html": "\n".join(html), "text/plain": "✓ one\n✓ two"}
    everything = render_group(entries().values())
    assert (is_fit(everything), everything["text/html"].count('<img src="data:image/png;base64,')) == ([], 1)


def words(entry):
    return render(entry)["text/plain"]


def test_a_message_keeps_its_markdown_as_words():
    assert render(said("a **b**\n")) == {"text/html": "<p>a <strong>b</strong></p>\n", "text/plain": "a **b**"}


def test_a_thought_is_folded_and_says_what_it_is_about():
    bundle = render(said("**Looking** at it\n\nand *more*", "thought"))
    assert bundle["text/plain"] == "Thinking:\n  **Looking** at it\n\n  and *more*"
    assert bundle["text/html"].startswith("<details>")
    assert text_of(bundle["text/html"]).startswith("Thinking · Looking** at it")


def test_what_the_user_said_is_quoted_and_not_rendered():
    assert render(said("**a**\n<b>", "user"))["text/plain"] == "> **a**\n> <b>"
    assert text_of(render(said("**a**\n<b>", "user"))["text/html"]) == "**a**\n<b>"


def test_a_plan_is_a_list_of_boxes():
    steps = PlanEntry("Read", "low", "completed"), PlanEntry("Change", "high", "in_progress"), PlanEntry("Test\nit")
    assert words(Plan(0, 1, steps)) == "Plan (1 of 3 done)\n☑ Read\n◐ Change (high priority)\n☐ Test it"
    assert text_of(render(Plan(0, 1, steps))["text/html"]) == "Plan 1 of 3 done☑ Read◐ Change high priority☐ Test\nit"
    assert words(Plan(0, 1, ())) == "Plan (empty)"
    assert words(Plan(0, 1, (PlanEntry("a", "x", "y"),), "for it")) == "Plan (0 of 1 done) for it\n☐ a"


@pytest.mark.parametrize(("notice", "shown"), [
    (Notice(0, 1, "info", "Compacted"), "ℹ Compacted"),
    (Notice(0, 1, "warning", "Careful", "It is late."), "⚠ warning: Careful\nIt is late."),
    (Notice(0, 1, "error", "No"), "✗ error: No"),
    (Notice(0, 1, "unknown", "An update", raw={"a": 1}), '• An update\n{\n  "a": 1\n}'),
])  # fmt: skip
def test_a_notice_in_words(notice, shown):
    assert words(notice) == shown


def lookup(number, kind="read", **more):
    return call(title=f"Look {number}", kind=kind, **{"status": "completed", **more})


def test_reads_and_searches_in_a_row_are_one_line_that_opens():
    group = [lookup(1), said("Hm.", "thought"), lookup(2), lookup(3, "search"), lookup(4, "fetch")]
    bundle = render_group([*group, call(title="pytest", kind="execute"), lookup(5)])
    html = bundle["text/html"]
    assert "<summary" in html
    assert text_of(html).startswith("Read 2 files, searched 1 time, fetched 1 page≡ Look 1")
    assert (html.count("<details>"), text_of(html.rpartition("</details>")[2])) == (2, "\n❯ pytest ○ pending\n≡ Look 5")
    assert [line for line in bundle["text/plain"].split("\n") if "Look" in line] == [f"✓ Look {n}" for n in range(1, 6)]


def edit(number, title="Edit file", path="/project/src/{}.py", **more):
    diff = Diff(path.format(number), f"{number}\nold\n", f"{number}\nnew\n")
    return call(**{"title": title, "kind": "edit", "status": "completed", "content": (diff,), **more})


def first_line(*calls):
    """Of the HTML, where an amber edge is `!`."""
    html = render_group(calls, lambda entry: render(entry, "/project"))["text/html"]
    edge = "!" if f"border-left-color:{AMBER}" in html.partition("</summary>")[0] else ""
    return edge + text_of(html.partition("</summary>")[0] + "</summary></details></div>")


NOT_ASKED = Unasked("not asked")
COVERED = Unasked("covered by the rule `Edit`", covered=True)


@pytest.mark.parametrize(("calls", "words"), [
    ([edit(1), lookup(2), edit(2)], "Changed 2 files, read 1 · +2 −2"),
    ([lookup(1), lookup(2), edit(1)], "Changed src/1.py, read 2 files · +1 −1"),
    ([edit(1), edit(1)], "Changed src/1.py · +2 −2"),
    ([edit(1), edit(2, unasked=COVERED), lookup(1, "search")], "Changed 2 files, searched 1 time · +2 −2"),
    ([edit(1), edit(2, unasked=NOT_ASKED)], "!Changed 2 files · +2 −2 ⚠ not asked"),
    ([edit(1), edit(2, "Tidy", status="in_progress")], "Changed 2 files · +2 −2 · ◐ Tidy"),
    ([edit(1, decision="allowed by rule `Edit`"), edit(2)], "Changed 2 files · +2 −2"),
    ([edit(1, content=()), edit(2, content=())], "Changed 2 files"),
    ([edit(1, decision="allowed by you"), edit(2)], "✎ src/1.py +1 −1 allowed by you"),
    ([edit(1, status="failed"), edit(2)], "✎ src/1.py +1 −1 ✗ failed"),
])  # fmt: skip
def test_edits_and_lookups_of_one_stretch_are_one_line(calls, words):
    assert first_line(*calls) == words


@pytest.mark.parametrize(("fields", "words", "link"), [
    ({}, "✎ src/1.py +1 −1", True),
    ({"title": "Editing src/1.py"}, "✎ Editing src/1.py +1 −1", False),
    ({"path": "/etc/{}.py"}, "✎ /etc/1.py +1 −1", False),
    ({"status": "pending"}, "✎ src/1.py +1 −1 ○ pending", False),
    ({"raw_input": {"command": "sed -i s/a/b/ x"}}, "✎ $ sed -i s/a/b/ x Edit file", False),
])  # fmt: skip
def test_the_row_of_a_change_names_its_file(fields, words, link):
    made = edit(1, **fields)
    assert first_line(made) == words
    summary, _, details = render(made, "/project")["text/html"].partition("</summary>")
    assert ('<a href="src/1.py"' in summary) == link
    assert ("The agent's title: Edit file" in text_of(f"<details>{details}")[:99]) == (words[2] in "s/")


def own(tool, **more):
    return call(**{"title": f"notebook-{tool}", "status": "completed", **more})


@pytest.mark.parametrize(("tool", "raw_input", "words"), [
    ("read_notebook", {"outputs": True}, "✓ Read this notebook"),
    ("list_variables", {}, "✓ Looked at your variables"),
    ("inspect_variable", {"name": "sales", "path": "[0]"}, "✓ Looked at sales[0]"),
    ("delete_cell", {"id": "5944dca1"}, "✓ Delete a cell"),
    ("unknown", {}, "✓ notebook-unknown"),
])  # fmt: skip
def test_the_notebooks_own_tools_read_as_sentences(tool, raw_input, words):
    assert render(own(tool, raw_input=raw_input))["text/plain"] == words
    named = call(title=tool, name=f"mcp__notebook__{tool}", status="completed", raw_input=raw_input)
    assert render(named)["text/plain"] == words.replace("notebook-", "notebook · ")


def test_reads_of_the_notebook_and_the_notice_before_them_are_one_line():
    notice = Notice(0, 1, "info", "The agent can see cells.", about=NOTICE_OF_READS)
    group = [own("read_notebook"), notice, said("Hm.", "thought"), own("list_variables"), lookup(1)]
    assert first_line(*group) == "Read 1 file, looked at the notebook and your variables"
    assert first_line(notice, own("read_cell")) == first_line(own("read_cell"), notice) == "Read a cell"
    assert first_line(own("read_cell")).startswith("≡ Read a cell")
    assert first_line(notice, call(title="Run")).startswith("ℹ The agent can see cells.")


def test_the_lookup_that_runs_is_named_and_one_that_failed_stands_for_itself():
    running = text_of(render_group([lookup(1), lookup(2, status="in_progress")])["text/html"])
    failed = text_of(render_group([lookup(1), lookup(2, status="failed"), lookup(3)])["text/html"])
    assert (running.startswith("Read 2 files · ◐ Look 2"), "Read" in failed) == (True, False)


def test_what_copilot_writes_into_its_plan_is_one_line_that_opens():
    recorded = render_group(replayed("copilot-plan").entries[1:])["text/html"]
    assert text_of(recorded).startswith("Updated its plan 2 times• Plan")

    def plan(**given):
        raw_input = {"query": "UPDATE todos SET status = 'done'", "description": "Step", **given}
        return call(title="Step", status="completed", raw_input=raw_input)

    mixed = render_group([lookup(1), plan(), plan(query="select * from todo_deps")])["text/html"]
    assert text_of(mixed).startswith("Read 1 file, updated its plan 2 times")
    others = (plan(query="DELETE FROM users"), plan(description="of a server"), plan(database="theirs"))
    assert not any("plan" in text_of(render_group([plan(), other])["text/html"]) for other in others)


def test_a_thought_at_the_edge_of_lookups_stays_outside():
    html = render_group([said("Before.", "thought"), lookup(1), lookup(2), said("After.", "thought")])["text/html"]
    assert text_of(html).index("Before.") < text_of(html).index("Read 2 files")
    assert "After." in html.rpartition("Look 2")[2].partition("</details></div>")[2]
