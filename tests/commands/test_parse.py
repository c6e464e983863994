"""A cell is nothing, a command of ours, or a prompt."""

from __future__ import annotations

import pytest
from copilot_kernel.commands.parse import Command, Empty, Prompt, parse
from copilot_kernel.errors import UsageError


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("", Empty()),
        (" \n\t", Empty()),
        ("Explain this folder", Prompt("Explain this folder")),
        ("\n  two\nlines\n", Prompt("two\nlines")),
        ("%help", Command("help")),
        ("  %help me\nplease ", Command("help", "me\nplease")),
        ("%%help", Command("help")),
        ("/review it", Prompt("/review it")),
        ("100 %help", Prompt("100 %help")),
        ("% of what?", Prompt("% of what?")),
        ("%", Prompt("%")),
    ],
)
def test_a_cell_is_one_of_three_things(cell: str, what: object) -> None:
    assert parse(cell) == what


@pytest.mark.parametrize(
    ("cell", "hint"), [("%hepl", "Did you mean %help?"), ("%%bash\nrm -r x", "%help lists the commands.")]
)
def test_an_unknown_command_is_an_error_with_a_hint(cell: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(cell)
    assert caught.value.hint == hint
