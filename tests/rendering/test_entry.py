"""What is true of every entry, whatever an agent sends in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from copilot_kernel.conversation.model import Message
from copilot_kernel.permissions.question import Question
from copilot_kernel.rendering.entry import render, render_group
from copilot_kernel.rendering.question import render_question
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

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
    wrong = [found for entry in calls if (found := is_fit(render_question(Question(1, entry, ()))))]
    assert wrong == []


def test_in_a_markdown_export_an_output_with_empty_lines_stays_one_piece_of_html():
    wrong = {name for name, entry in entries("a\n\n \n    b\n\n\nc").items() if _falls_apart(render(entry))}
    assert wrong == set()


def _falls_apart(bundle: dict[str, str]) -> bool:
    tokens = MarkdownIt("commonmark").parse(bundle.get("text/html", ""))
    return sum(token.level == 0 and token.nesting >= 0 for token in tokens) > 1


def test_empty_lines_are_still_there_for_the_reader():
    html = render(call(raw_output={"output": "a\n\n \n    b"}))["text/html"]
    assert "a\n\n \n    b" in text_of(html)


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=200, deadline=None)
@given(JSON, JSON, JSON)
def test_any_json_in_the_raw_members_can_be_shown(raw_input, raw_output, meta):
    shown = call(raw_input=raw_input, raw_output=raw_output, meta={"terminal_output": meta, "terminal_exit": meta})
    assert is_fit(render(shown)) == []
    assert is_fit(render_question(Question(1, shown, ()))) == []


def test_json_that_is_nested_too_deeply_is_named():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    bundle = render(call(title="t", raw_input={"x": deep}, raw_output=deep))
    assert bundle["text/plain"] == (
        "○ t · pending\n  (dict that cannot be written as JSON)\n  (list that cannot be written as JSON)"
    )


def test_every_entry_says_the_same_in_words():
    assert [name for name, entry in entries().items() if not render(entry)["text/plain"].strip()] == []


def test_a_bundle_depends_on_the_entry_alone():
    assert [render(entry) for entry in entries().values()] == [render(entry) for entry in entries().values()]
    assert render(replace(call(title="a"), id=7, call_id="x")) == render(call(title="a"))


def test_several_entries_share_a_bundle():
    pair = [call(title="one", status="completed"), call(title="two", status="completed")]
    html = [render(entry)["text/html"] for entry in pair]
    assert render_group(pair) == {"text/html": "\n".join(html), "text/plain": "✓ one · done\n✓ two · done"}


def test_a_group_of_everything_is_fit_and_holds_the_images():
    group = render_group(entries().values())
    assert is_fit(group) == []
    assert group["text/html"].count('<img src="data:image/png;base64,') == 1
    assert group["text/html"].count('<img src="data:image/svg+xml;base64,') == 1


def test_an_image_has_its_own_type_and_words():
    assert set(render(entries()["image"])) == {"image/png", "text/plain"}
    assert render(entries()["image"])["text/plain"] == "[image/png, 70 bytes]"


def test_what_is_said_is_what_is_read():
    shown = render(said("Costs $5 & <b>more</b>"))
    assert text_of(shown["text/html"]) == "Costs $5 & <b>more</b>\n"
    assert shown["text/plain"] == "Costs $5 & <b>more</b>"


def test_all_kinds_of_entries_are_among_the_samples():
    assert {type(entry).__name__ for entry in entries().values()} == {
        "Message",
        "Attachment",
        "ToolCall",
        "Plan",
        "Notice",
    }
    assert {entry.speaker for entry in entries().values() if isinstance(entry, Message)} == {"user", "agent", "thought"}
