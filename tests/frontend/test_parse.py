"""A cell is nothing, a command of ours, a prompt, or files and a prompt."""

from __future__ import annotations

import pytest
from copilot_kernel.errors import UsageError
from copilot_kernel.frontend.parse import Command, Prompt, parse, slash_name
from copilot_kernel.frontend.table import TABLE

ADVERTISED = ("help", "memory show", "$skill", "review")


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("", ()),
        (" \n\t", ()),
        ("Explain this folder", (Prompt("Explain this folder"),)),
        ("\n  two\nlines\n", (Prompt("two\nlines"),)),
        ("%help", (Command("help"),)),
        ("  %mode   plan ahead \n ", (Command("mode", "plan ahead"),)),
        ("%%help", (Command("help"),)),
        ("100 %help", (Prompt("100 %help"),)),
        ("% of what?", (Prompt("% of what?"),)),
        ("%", (Prompt("%"),)),
        ("%attach a.py", (Command("attach", "a.py"),)),
        ("%attach a\n\n%attach b\n\nC\nD", (Command("attach", "a"), Command("attach", "b"), Prompt("C\nD"))),
        ("%attach a\n/review it", (Command("attach", "a"), Prompt("/review it"))),
        ("%attach a\n100 %new", (Command("attach", "a"), Prompt("100 %new"))),
    ],
)
def test_a_cell_holds_a_command_or_a_prompt(cell: str, what: object) -> None:
    assert parse(cell, ADVERTISED) == what


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("/help", Prompt("/help")),
        ("/help me", Prompt("/help me")),
        ("/helpless", Prompt("/helpless")),
        ("/memory show all", Prompt("/memory show all")),
        ("/$skill x", Prompt("/$skill x")),
        ("/status", Command("status")),
        ("/mode plan", Command("mode", "plan")),
        ("/mode/plan.txt is wrong", Prompt("/mode/plan.txt is wrong")),
        ("/unheard of", Prompt("/unheard of")),
        ("/", Prompt("/")),
    ],
)
def test_a_slash_is_the_agents_if_it_knows_the_name_else_ours_else_a_prompt(cell: str, what: object) -> None:
    assert parse(cell, ADVERTISED) == (what,)


def test_an_agents_name_with_a_space_does_not_take_ours() -> None:
    assert parse("/mode plan", ["mode show"]) == (Command("mode", "plan"),)
    assert parse("/mode show", ["mode show"]) == (Prompt("/mode show"),)


@pytest.mark.parametrize(("cell", "name"), [("/help", "help"), (" /mode x", "mode"), ("/memory", ""), ("%help", "")])
def test_only_names_of_ours_are_in_doubt(cell: str, name: str) -> None:
    assert slash_name(cell) == name


@pytest.mark.parametrize(
    ("cell", "message", "hint"),
    [
        ("%hepl", "There is no command %hepl.", "Did you mean %help?"),
        ("%Mode", "There is no command %Mode.", "Did you mean %mode?"),
        ("%%bash\nrm -r x", "There is no command %bash.", "%help lists the commands. A prompt must begin otherwise."),
        ("%attach a\n%stauts", "There is no command %stauts.", "Did you mean %status?"),
        ("%new please", "Nothing may stand after %new.", "Put the rest into a cell of its own."),
        (
            "%mode plan\nMake a plan",
            "%mode is one line, and more follows it in this cell.",
            "Put the rest into a cell of its own.",
        ),
        ("/new\nline", "%new is one line, and more follows it in this cell.", "Put the rest into a cell of its own."),
        ("%attach a\n%mode plan", "%mode cannot follow %attach.", "Put %mode into a cell of its own."),
    ],
)
def test_what_makes_no_sense_is_an_error_with_a_hint(cell: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(cell, ADVERTISED)
    assert (str(caught.value), caught.value.hint) == (message, hint)


@pytest.mark.parametrize("name", TABLE)
def test_every_command_can_be_typed(name: str) -> None:
    assert parse(f"%{name}") == (Command(name),)
