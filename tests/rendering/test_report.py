"""What our commands say, with the agent's words in it."""

from __future__ import annotations

import pytest
from copilot_kernel.rendering.markup import RED, Bundle
from copilot_kernel.rendering.report import render_done, render_lines, render_report

from .allowed import problems, text_of
from .hostile import HOSTILE

HEAD, ROWS = ("", "Type", "Name", "About"), (("•", "plan", "Plan\nahead", ""), ("", "go", "Go", ""))


def test_a_table_in_plain_text_is_aligned_and_has_no_empty_columns() -> None:
    said = render_report("Mode", HEAD, ROWS, "Choose one.")["text/plain"]
    assert said.split("\n") == ["Mode", "   Type  Name", "•  plan  Plan ahead", "   go    Go", "Choose one."]


def test_a_table_in_html_has_the_same_cells() -> None:
    html = render_report("Mode", HEAD, ROWS, "Choose one.")["text/html"]
    assert (problems(html), html.count("<th "), html.count("<td ")) == ([], 3, 6)
    assert text_of(html) == "Mode\nTypeName•planPlan aheadgoGo\nChoose one."


def test_facts_need_no_head() -> None:
    said = render_report("Status", rows=(("Agent", "demo"), ("Permissions", "default")))
    assert said["text/plain"] == "Status\nAgent        demo\nPermissions  default"
    assert "<thead>" not in said["text/html"]


def test_a_warning_is_marked_in_words_too() -> None:
    assert render_report("P", note="Everything is allowed.", warns=True)["text/plain"] == "P\n⚠ Everything is allowed."


def test_a_danger_is_red_and_marked() -> None:
    said = render_report("P", note="Everything is allowed.", alarms=True)
    assert (said["text/plain"], said["text/html"].count(RED)) == ("P\n⚠ Everything is allowed.", 2)


def test_what_is_empty_is_left_out() -> None:
    assert render_report("Nothing")["text/plain"] == "Nothing"
    assert render_report("Nothing", HEAD)["text/plain"] == "Nothing"


def test_lines_are_shown_as_they_are_and_folded_if_they_are_many() -> None:
    few, many = (render_lines("Log", [f"> {number}" for number in range(count)]) for count in (2, 50))
    assert few["text/plain"] == "Log\n> 0\n> 1"
    assert ("<details>" in few["text/html"], "<details>" in many["text/html"]) == (False, True)
    assert render_lines("Log", [])["text/plain"] == "Log\nnothing"


def test_what_was_done_is_one_line() -> None:
    assert render_done("Mode:\nplan")["text/plain"] == "✓ Mode: plan"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_agents_words_stay_text(text: str) -> None:
    said: list[Bundle] = [
        render_report(text, (text, text), ((text, text),), text, True),
        render_lines(text, [text] * 20),
        render_done(text),
    ]
    assert [problems(bundle["text/html"]) for bundle in said] == [[], [], []]
