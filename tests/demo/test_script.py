"""Reading scripts."""

import pytest
from copilot_kernel.demo.script import ScriptError, Step, find_script, numbers, parse, split_two, unescape

KNOWN = {"say", "stop"}


def text(words):
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("blocks", "script"),
    [
        ([text("demo: say hello")], " say hello"),
        ([text("\n demo:\nsay a\nstop x")], "\nsay a\nstop x"),
        ([text("Fix the bug")], None),
        ([text("what does demo: mean?")], None),
        ([text("context"), {"type": "image"}, text("demo: stop")], " stop"),
        ([text("demo: say a"), text("and now")], " say a"),
        (["demo: say a", None, 3], None),
        ([], None),
    ],
)
def test_a_prompt_is_a_script_when_one_of_its_texts_begins_with_the_mark(blocks, script):
    assert find_script(blocks) == script


def test_each_line_is_a_directive_and_its_argument():
    script = " say hello  you \n\n   stop\nsay   a;b => c"
    assert parse(script, KNOWN) == [Step("say", "hello  you"), Step("stop"), Step("say", "a;b => c")]


def test_an_unknown_directive_is_named_with_those_that_there_are():
    with pytest.raises(ScriptError) as caught:
        parse("say a\nsing b", KNOWN)
    assert str(caught.value) == "demo agent: no directive is called 'sing'; there are say, stop"


def test_line_breaks_and_tabs_can_be_written():
    assert unescape(r"a\nb\tc \x") == "a\nb\tc \\x"


@pytest.mark.parametrize(
    ("argument", "values"), [("", [1, 2]), ("7", [7, 2]), ("7 0.5", [7, 0.5]), ("7 8 and more", [7, 8])]
)
def test_numbers_that_are_left_out_have_defaults(argument, values):
    assert numbers(argument, (1, 2), "slow N [SECONDS]") == values


def test_what_is_no_number_is_answered_with_the_form():
    with pytest.raises(ScriptError, match=r"^demo agent: write slow N \[SECONDS\]$"):
        numbers("many", (1,), "slow N [SECONDS]")


def test_an_argument_of_two_parts_needs_its_separator():
    assert split_two(" old => new ", "=>", "edit") == ("old", "new")
    with pytest.raises(ScriptError, match=r"^demo agent: write edit PATH OLD => NEW$"):
        split_two("old", "=>", "edit PATH OLD => NEW")
