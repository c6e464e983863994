"""What a cell asks for: our commands, a prompt, or nothing; what may be typed."""

import pytest
from copilot_kernel.acp.messages import AgentInfo, AuthMethod, SessionInfo
from copilot_kernel.commands.command_context import CommandState
from copilot_kernel.commands.command_table import TABLE, Command, complete, parse, slash_name
from copilot_kernel.commands.permission_commands import ACTIONS, MODES, RULES
from copilot_kernel.config import PERMISSION_MODES, Settings
from copilot_kernel.conversation.model import Conversation
from copilot_kernel.errors import UsageError

from ..chat.test_choices import STATE

ADVERTISED = ("help", "memory show", "$skill", "review")

# -- what a cell holds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        (" \n\t", ((), "")),
        ("\n  two\nlines\n", ((), "two\nlines")),
        ("  %mode   plan ahead \n ", ((Command("mode", "plan ahead"),), "")),
        ("%%help", ((Command("help"),), "")),
        ("100 %help", ((), "100 %help")),
        ("% of what?", ((), "% of what?")),
        ("%attach a\n\n%attach b\n\nC\nD", ((Command("attach", "a"), Command("attach", "b")), "C\nD")),
        ("%attach a\n/review it", ((Command("attach", "a"),), "/review it")),
        ("/help me", ((), "/help me")),
        ("/memory show all", ((), "/memory show all")),
        ("/status", ((Command("status"),), "")),
        ("/mode plan", ((Command("mode", "plan"),), "")),
        ("/mode/plan.txt is wrong", ((), "/mode/plan.txt is wrong")),
        ("/unheard of", ((), "/unheard of")),
    ],
)
def test_a_cell_holds_commands_or_a_prompt_and_a_slash_is_the_agents_if_it_knows_the_name(
    cell: str, what: object
) -> None:
    assert parse(cell, ADVERTISED) == what


def test_an_agents_name_with_a_space_does_not_take_ours() -> None:
    assert parse("/mode plan", ["mode show"]) == ((Command("mode", "plan"),), "")
    assert parse("/mode show", ["mode show"]) == ((), "/mode show")


@pytest.mark.parametrize(("cell", "name"), [(" /mode x", "mode"), ("/memory", ""), ("%help", "")])
def test_only_names_of_ours_are_in_doubt(cell: str, name: str) -> None:
    assert slash_name(cell) == name


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%hepl", "No such command: %hepl Did you mean %help?"),
        ("%%bash\nrm -r x", "No such command: %bash %help lists the commands"),
        ("%new please", "%new takes no arguments."),
        ("%mode plan\nMake a plan", "%mode is one line, and more follows it in this cell."),
        ("%attach a\n%mode plan", "%mode cannot follow %attach."),
    ],
)
def test_what_makes_no_sense_is_an_error_with_a_hint(cell: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(cell, ADVERTISED)
    assert words in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint


# -- completion -----------------------------------------------------------------------------------------------------

NOW = CommandState(
    Settings(allow=("Read",), deny=("Bash(rm *)",)),
    Conversation(state=STATE),
    AgentInfo(auth_methods=(AuthMethod("token", "With a token"),)),
    sessions=(SessionInfo("0123456789", title="Plans"), SessionInfo("abcdefghij")),
)


@pytest.mark.parametrize(
    ("command", "typed", "start", "words"),
    [
        ("mode", "pl", 0, ["agent", "plan"]),
        ("model", "", 0, ["acme/fast", "other/fast"]),
        ("options", "", 0, ["mode", "brain", "careful", "odd"]),
        ("options", "Careful o", 8, ["on", "off"]),
        ("options", "nothing ", 8, []),
        ("permissions", "", 0, list(ACTIONS)),
        ("permissions", "deny Ba", 5, list(RULES)),
        ("permissions", "allow Bash(git status) --", 23, ["--save"]),
        ("permissions", "remove Bash(r", 7, ["Read", "Bash(rm *)"]),
        ("permissions", "nonsense ", 0, []),
        ("permissions", "mode by", 5, list(PERMISSION_MODES)),
        ("resume", "", 0, ["last", "01234567", "abcdefgh"]),
        ("delete", "", 0, ["01234567", "abcdefgh"]),
        ("sessions", "", 0, ["all"]),
        ("login", "", 0, ["token"]),
        ("agent", "", 0, ["demo"]),
        ("help", "", 0, list(TABLE)),
        ("status", "", 0, []),
        ("nonsense", "", 0, []),
    ],
)
def test_what_may_be_typed_after_a_commands_name(command: str, typed: str, start: int, words: list[str]) -> None:
    found_start, choices = complete(command, typed, NOW)
    assert (found_start, [choice.word for choice in choices]) == (start, words)


def test_nothing_need_be_known() -> None:
    nothing = CommandState(Settings(), Conversation())
    words = {choice.word for command in TABLE for choice in complete(command, "", nothing)[1]}
    assert words == {"last", "all", "demo", "restore", *ACTIONS, *TABLE}


def test_every_mode_is_explained() -> None:
    assert tuple(MODES) == PERMISSION_MODES


def test_a_summary_is_one_sentence() -> None:
    for spec in TABLE.values():
        assert spec.summary.endswith(".")
        assert len(spec.summary) <= 90
