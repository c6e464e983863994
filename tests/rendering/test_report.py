"""What this program says itself, with the agent's words in it."""

import pytest
from copilot_kernel.rendering.markup import RED, Bundle
from copilot_kernel.rendering.report import (
    Report,
    Wording,
    render_done,
    render_lines,
    render_report,
)

from .allowed import problems, text_of
from .hostile import HOSTILE

HEAD, ROWS = ("", "Type", "Name", "About"), (("•", "plan", "Plan\nahead", ""), ("", "go", "Go", ""))


def test_a_table_is_aligned_and_has_no_empty_columns() -> None:
    bundle = render_report(Report("Mode", HEAD, ROWS, "Choose one."))
    lines = ["Mode", "   Type  Name", "•  plan  Plan ahead", "   go    Go", "Choose one."]
    assert bundle["text/plain"].split("\n") == lines
    assert (bundle["text/html"].count("<th "), bundle["text/html"].count("<td ")) == (3, 6)
    assert text_of(bundle["text/html"]) == "Mode\nTypeName•planPlan aheadgoGo\nChoose one."


def test_facts_need_no_head_and_what_is_empty_is_left_out() -> None:
    bundle = render_report(Report("Status", rows=(("Agent", "demo"), ("Permissions", "default"))))
    assert bundle["text/plain"] == "Status\nAgent        demo\nPermissions  default"
    assert "<thead>" not in bundle["text/html"]
    assert render_report(Report("Nothing", HEAD))["text/plain"] == "Nothing"


def test_warnings_are_marked_and_dangers_red() -> None:
    warning = render_report(Report("P", note="Everything is allowed.", warns=True))
    danger = render_report(Report("P", note="Everything is allowed.", alarms=True))
    assert warning["text/plain"] == danger["text/plain"] == "P\n⚠ Everything is allowed."
    assert (RED in warning["text/html"], RED in danger["text/html"]) == (False, True)


def test_each_front_end_has_its_own_commands() -> None:
    chat = Wording("try again", "/", frozenset({"mode"}))
    shown = render_report(Report("%mode", ("a",), (("%mode x %model",),), "See %mode."), chat)
    assert shown["text/plain"] == "/mode\na\n/mode x %model\nSee /mode."
    assert render_done("%mode", chat)["text/plain"] == "✓ /mode"


def test_lines_are_shown_as_they_are_and_folded_if_they_are_many() -> None:
    few, many = (render_lines("Log", [f"> {number}" for number in range(count)]) for count in (2, 50))
    assert few["text/plain"] == "Log\n> 0\n> 1"
    assert ("<details>" in few["text/html"], "<details>" in many["text/html"]) == (False, True)
    assert render_lines("Log", [])["text/plain"] == "Log\nnothing"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_agents_words_stay_text(text: str) -> None:
    shown: list[Bundle] = [
        render_report(Report(text, (text, text), ((text, text),), text, True)),
        render_lines(text, [text] * 20),
        render_done(text),
    ]
    assert [problems(bundle["text/html"]) for bundle in shown] == [[], [], []]
