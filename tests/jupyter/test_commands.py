"""Our commands in cells, seen from a front end; the agent is the demo agent, a process of its own."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.frontend.choosing import KEPT
from copilot_kernel.frontend.commands import RUNS
from copilot_kernel.frontend.table import TABLE

from .commanding import Picked, own, status, work
from .front_end import LIMIT, FrontEnd, kernel_process, parent

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel whose agent has everything to choose from, shared by the tests: each leaves it idle."""
    folder = tmp_path_factory.mktemp("rich")
    with kernel_process(folder, own(folder, COPILOT_KERNEL_DEMO="uri-modes,more-options")) as front_end:
        yield front_end
        assert front_end.complaints() == []


def test_every_command_of_the_table_does_something() -> None:
    assert list(RUNS) == list(TABLE)


# -- setting something ----------------------------------------------------------------------------------------------


def test_a_mode_is_typed_short_and_sent_as_the_agents_own(rich: FrontEnd) -> None:
    rich.run("%mode agent")
    assert rich.run("%mode plan").text == "✓ Mode: Plan"
    assert (status(rich, "Mode"), PLAN in rich.run("%log 3").text) == ("Plan", True)


def test_a_model_and_an_option_are_set(rich: FrontEnd) -> None:
    rich.run("%model scripted")
    assert rich.run("%model scripted-large").text == "✓ Model: Scripted, large (scripted-large)"
    assert rich.run("%options effort high").text == "✓ Effort: High"
    assert rich.run("%options allow_all on").text == "✓ Allow everything: on"
    assert (status(rich, "Effort"), status(rich, "Allow everything")) == ("High", "on")
    rich.run("%options allow_all off")


def test_the_same_can_be_typed_with_a_slash_unless_the_agent_has_it(rich: FrontEnd) -> None:
    assert rich.run("/mode plan").text == "✓ Mode: Plan"
    assert "demo agent" in rich.run("/help").text
    rich.run("demo: commands mode")
    assert "Mode:" not in rich.run("/mode plan").text
    rich.run("demo: commands")


def test_even_in_the_first_cell_a_slash_is_the_agents(fresh: FrontEnd) -> None:
    assert "You are talking to the **demo agent**" in fresh.run("/help").text


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("%mode plam", "UsageError", "There is no mode plam."),
        ("%options colour red", "UsageError", "There is no option colour."),
        ("%options effort highest", "UsageError", "There is no effort highest."),
        ("%permissions allow", "UsageError", "%permissions allow needs a rule."),
        (
            "%permissions deny Bash()",
            "UsageError",
            "Bash(): The parentheses are empty; write Bash to allow everything of that kind.",
        ),
        (
            "%permissions allow Shell(ls)",
            "UsageError",
            "'Shell(ls)' is not a rule and matches nothing. "
            "Rules begin with Read, Grep, Edit, Bash, WebFetch or mcp__.",
        ),
        ("%permissions remove Read", "UsageError", "No such rule: Read."),
        ("%permissions what", "UsageError", "%permissions what means nothing."),
        ("%permissions mode bypass", "UsageError", 'Unknown permission mode "bypass".'),
        ("%sessions what", "UsageError", "%sessions what means nothing."),
        ("%resume zzz", "UsageError", "There is no session zzz."),
        ("%delete", "UsageError", "Say which conversation is to be deleted."),
        ("%delete last", "UsageError", "Say which conversation is to be deleted."),
        ("%log many", "UsageError", "many is no number of lines."),
        ("%log ²", "UsageError", "² is no number of lines."),
        ("%attach nothing.png", "UsageError", "nothing.png cannot be read: no such file or directory"),
        ("%attach 'half", "UsageError", "The names of the files cannot be read: No closing quotation."),
        ("%agent nobody", "AgentNotFound", "There is no program nobody, which the setting agent names"),
        ("%help nonsense", "UsageError", "There is no command %nonsense."),
        ("%login nonsense", "UsageError", "The agent has no way to sign in that is called nonsense."),
    ],
)
def test_what_cannot_be_done_is_an_error_and_changes_nothing(
    rich: FrontEnd, code: str, error: str, message: str
) -> None:
    before = rich.run("%status").text
    assert rich.run(code, live=False).error == (error, message)
    assert rich.run("%status").text == before


# -- pickers --------------------------------------------------------------------------------------------------------


def test_what_is_picked_is_set_and_a_line_stands_where_the_picker_stood(rich: FrontEnd) -> None:
    rich.run("%mode agent")
    picker = Picked(rich, "%mode")
    assert "plan" in picker.shown["content"]["data"]["text/plain"]
    picker.choose("Mode", 1)
    outcome = picker.press("Apply")
    assert (outcome.status, outcome.text, status(rich, "Mode")) == ("ok", "ℹ Mode: Plan", "Plan")
    assert picker.open_models() == set()


def test_several_options_are_picked_at_once(rich: FrontEnd) -> None:
    for code in ("%mode agent", "%model scripted", "%options effort low", "%options allow_all off"):
        assert rich.run(code).status == "ok"
    picker = Picked(rich, "%options")
    picker.choose("Effort", 1)
    picker.choose("Allow everything", 0)
    assert picker.press("Apply").text == "ℹ Effort: Medium, Allow everything: on"
    assert (status(rich, "Effort"), status(rich, "Allow everything")) == ("Medium", "on")


def test_an_interrupt_takes_the_picker_away(rich: FrontEnd) -> None:
    before = status(rich, "Mode")
    picker, queued = Picked(rich, "%mode"), rich.execute("demo: say Never")
    picker.choose("Mode", 2)
    rich.manager.interrupt_kernel()
    outcome = rich.finish(picker.cell)
    assert (outcome.error[0], outcome.text, rich.finish(queued).status) == ("Cancelled", f"ℹ {KEPT}", "aborted")
    assert (picker.open_models(), status(rich, "Mode")) == (set(), before)


def test_completion_and_inspection_work_while_a_picker_waits(rich: FrontEnd) -> None:
    picker = Picked(rich, "%mode")
    completed = rich.ask("complete_request", {"code": "%mode p", "cursor_pos": 7})
    inspected = rich.ask("inspect_request", {"code": "%mode", "cursor_pos": 2, "detail_level": 0})
    assert (completed["matches"], inspected["found"]) == (["plan"], True)
    assert picker.press("Leave as it is").text == f"ℹ {KEPT}"


def test_in_a_console_a_line_is_typed(rich: FrontEnd) -> None:
    rich.run("%mode agent")
    cell = rich.execute("%mode", cell_id=None)
    while parent(asked := rich.client.get_stdin_msg(timeout=LIMIT)) != cell:
        pass  # what earlier pickers asked besides, to which nobody listened
    rich.client.input("plan")
    said = rich.finish(cell).text.splitlines()[-1]
    assert (asked["content"]["prompt"][:18], said) == ("1) Agent  2) Plan ", "ℹ Mode: Plan")


def test_where_nobody_can_choose_the_choices_are_printed(rich: FrontEnd) -> None:
    for code, words in (("%mode", "plan"), ("%model", "scripted-large"), ("%options", "pirate")):
        outcome = rich.run(code, live=False)
        assert (outcome.status, words in outcome.text, [m["msg_type"] for m in outcome.outputs]) == (
            "ok",
            True,
            ["display_data"],
        )


# -- the wire and files ---------------------------------------------------------------------------------------------


def test_the_log_has_what_went_over_the_wire(rich: FrontEnd) -> None:
    rich.run("demo: say Needle")
    lines = rich.run("%log").text.splitlines()
    assert any(line.startswith("> ") and "session/prompt" in line for line in lines)
    assert any(line.startswith("< ") and "Needle" in line for line in lines)
    assert len(rich.run("%log 1").text.splitlines()) == 2


def test_attached_and_mentioned_files_go_with_the_prompt(rich: FrontEnd) -> None:
    (work(rich) / "pixel.png").write_bytes(PIXEL)
    (work(rich) / "my notes.txt").write_text("notes")
    alone = rich.run("%attach pixel.png")
    assert "image/png" in alone.text
    told = rich.run('%attach "my notes.txt"\n\ndemo: echo\nthink @pixel.png').text
    assert [word for word in ("image", "my notes.txt", "pixel.png", "resource_link") if word not in told] == []
    assert "Nothing is attached" in rich.run("%attach").text


# -- what everybody sees --------------------------------------------------------------------------------------------

UNWATCHED = ("%status", "%help mode", "%mode", "%model", "%options", "%permissions", "%agent", "%mcp", "%attach")


def test_without_a_person_a_run_is_like_another(tmp_path: Path) -> None:
    def seen(name: str) -> list[Any]:
        folder = tmp_path / name
        folder.mkdir()
        with kernel_process(folder, own(folder, COPILOT_KERNEL_DEMO="more-options")) as front_end:
            said = [front_end.run("demo: say Apples", live=False), front_end.run("%sessions", live=False)]
            said += [front_end.run(code, live=False) for code in UNWATCHED]
            return [[m["content"]["data"] for m in outcome.outputs] for outcome in said]

    assert seen("one") == seen("other")
