"""Our commands in cells, seen from a front end; the agent is the demo agent, a process of its own."""

from __future__ import annotations

import json
import shlex
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.cells.choosing import KEPT
from copilot_kernel.commands.table import TABLE
from copilot_kernel.desk.commands import RUNS

from .conftest import StartKernel
from .front_end import LIMIT, FrontEnd, Message, Outcome, is_output, kernel_process, parent

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"
WIDGET = "application/vnd.jupyter.widget-view+json"
DEMO = shlex.join([sys.executable, "-P", "-m", "copilot_kernel.demo"])


def own(folder: Path, **more: str) -> dict[str, str]:
    """A demo agent that remembers nothing of other tests."""
    return {"COPILOT_KERNEL_DEMO_HOME": str(folder / "demo"), "COPILOT_KERNEL_STATE": str(folder / "state"), **more}


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel whose agent has everything to choose from, shared by the tests: each leaves it idle."""
    folder = tmp_path_factory.mktemp("rich")
    with kernel_process(folder, own(folder, COPILOT_KERNEL_DEMO="uri-modes,more-options")) as front_end:
        yield front_end
        assert front_end.complaints() == []


@pytest.fixture
def fresh(start_kernel: StartKernel, tmp_path: Path) -> FrontEnd:
    return start_kernel(**own(tmp_path))


def work(front_end: FrontEnd) -> Path:
    return Path(front_end.process.cwd())


def value_of(outcome: Outcome, name: str) -> str:
    """What a table of facts says of `name`."""
    lines = [line for line in outcome.text.splitlines() if line.startswith(f"{name}  ")]
    return lines[0].removeprefix(name).strip() if lines else ""


def status(front_end: FrontEnd, name: str) -> str:
    return value_of(front_end.run("%status"), name)


def model(front_end: FrontEnd, description: str, since: int) -> str:
    """The id of the control that says `description`."""

    def wanted(message: Message) -> bool:
        state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_open" else {}
        return bool(state.get("description") == description)

    return str(front_end.see(wanted, start=since)["content"]["comm_id"])


class Picked:
    """A cell that shows a picker."""

    def __init__(self, front_end: FrontEnd, code: str) -> None:
        self.front_end, self.since = front_end, len(front_end.published)
        self.cell = front_end.execute(code)
        self.shown = front_end.see(lambda m: is_output(m, self.cell) and WIDGET in str(m["content"]))

    def choose(self, control: str, index: int) -> None:
        data = {"method": "update", "state": {"index": index}}
        self.front_end.comm(model(self.front_end, control, self.since), data)

    def press(self, button: str) -> Outcome:
        self.front_end.click(model(self.front_end, button, self.since))
        return self.front_end.finish(self.cell)

    def open_models(self) -> set[str]:
        """What a front end would still hold, of all that was opened since."""
        seen = self.front_end.published[self.since :]
        opened = {m["content"]["comm_id"] for m in seen if m["msg_type"] == "comm_open"}
        return opened - {m["content"]["comm_id"] for m in seen if m["msg_type"] == "comm_close"}


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
            "Bash(): nothing is in the brackets; write Bash for everything that it stands for.",
        ),
        (
            "%permissions allow Shell(ls)",
            "UsageError",
            "'Shell(ls)' is no rule and matches nothing; rules begin with "
            "Read, Grep, Edit, Bash, WebFetch, mcp__server__tool.",
        ),
        ("%permissions remove Read", "UsageError", "There is no rule Read."),
        ("%permissions what", "UsageError", "%permissions what means nothing."),
        ("%permissions mode bypass", "UsageError", "There is no permission mode bypass."),
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


# -- sessions -------------------------------------------------------------------------------------------------------


def ids(front_end: FrontEnd) -> dict[str, str]:
    """Titles and short ids of the sessions of this folder."""
    rows = [line.split("  ") for line in front_end.run("%sessions", cell_id=None).text.splitlines()[2:-1]]
    return {row[1]: row[0] for row in rows}


def test_sessions_are_listed_resumed_closed_and_deleted(fresh: FrontEnd) -> None:
    fresh.run("demo: say Apples")
    assert fresh.run("%new").status == "ok"
    assert "This is prompt 1 of this session" in fresh.run("demo: remember").text
    titles = ids(fresh)
    apples = next(short for title, short in titles.items() if "Apples" in title)
    resumed = fresh.run(f"%resume {apples}")
    assert ("Apples" in resumed.text, status(fresh, "Session")[:8]) == (True, apples)

    assert fresh.run("%resume last").status == "ok"
    assert status(fresh, "Session")[:8] == next(short for title, short in titles.items() if "Apples" not in title)
    assert (fresh.run("%close").status, status(fresh, "Session")) == ("ok", "none is open")
    assert fresh.run(f"%delete {apples}").text.startswith("✓ Deleted: ")
    assert apples not in ids(fresh).values()


def test_a_session_is_picked_and_what_was_said_is_shown(fresh: FrontEnd) -> None:
    fresh.run("demo: say Apples")
    fresh.run("%new")
    fresh.run("demo: say Pears")
    for code in ("%sessions", "%resume"):
        picker = Picked(fresh, code)
        listed = picker.shown["content"]["data"]["text/plain"]
        picker.choose("Session", next(n for n, line in enumerate(listed.splitlines()[2:]) if "Apples" in line))
        outcome = picker.press("Resume")
        assert (outcome.status, "Going on with: " in outcome.text, "say Apples" in outcome.text) == ("ok", True, True)
        assert picker.open_models() == set()


def test_an_agent_without_sessions_says_so(start_kernel: StartKernel, tmp_path: Path) -> None:
    front_end = start_kernel(**own(tmp_path, COPILOT_KERNEL_DEMO="no-list,no-load,no-resume,no-delete"))
    for code in ("%sessions", "%resume", "%resume last", "%resume abc", "%delete abc"):
        outcome = front_end.run(code)
        assert (outcome.error[0], "does not offer this" in outcome.error[1]) == ("UsageError", True)


# -- permissions ----------------------------------------------------------------------------------------------------


def test_the_permission_mode_holds_for_one_conversation(fresh: FrontEnd) -> None:
    def asked() -> str:
        return fresh.run("demo: ask Something", live=False).text

    assert "Rejected" in asked()
    warned = fresh.run("%permissions mode bypassPermissions").text
    assert ("⚠ Nobody is asked" in warned, "Rejected" in asked()) == (True, False)
    assert "⚠ Nobody is asked" in fresh.run("%status").text
    assert "permissions: bypassPermissions" in fresh.run("demo: say hi").text
    fresh.run("%new")
    assert "Rejected" in asked()


def test_a_rule_is_set_shown_obeyed_logged_and_taken_back(fresh: FrontEnd, tmp_path: Path) -> None:
    def ran() -> str:
        return fresh.run("demo: shell echo out", live=False).text

    assert "Rejected" in ran()
    assert fresh.run("%permissions allow Bash(echo *)").text == "✓ Allowed in this conversation: Bash(echo *)"
    assert "allowed by the rule Bash(echo *)" in ran()
    fresh.run("%permissions deny Bash(echo out)")
    assert "denied by the rule Bash(echo out)" in ran()
    shown = fresh.run("%permissions").text
    rows = [line.split() for line in shown.splitlines()]
    assert ["allow", "Bash(echo", "*)", "this", "conversation"] in rows
    decided = [line.split()[:7] for line in shown.splitlines() if "$ echo out" in line]
    assert [(row[0], row[4], row[5]) for row in decided] == [
        ("1", "rejected", "nobody"),
        ("2", "allowed", "rule"),
        ("3", "rejected", "rule"),
    ]
    assert "No longer in force" in fresh.run("%permissions remove Bash(echo out)").text
    assert "allowed by the rule Bash(echo *)" in ran()
    fresh.run("%new")
    assert "Rejected" in ran()


def test_a_rule_can_be_kept_in_the_config_file(start_kernel: StartKernel, tmp_path: Path) -> None:
    config = tmp_path / "config"
    front_end = start_kernel(**own(tmp_path, JUPYTER_CONFIG_DIR=str(config)))
    said = front_end.run("%permissions allow Bash(echo out) --save").text
    assert said == f"✓ Allowed from now on: Bash(echo out) (saved in {config / 'copilot_kernel.json'})."
    assert json.loads((config / "copilot_kernel.json").read_text()) == {"allow": ["Bash(echo out)"]}
    front_end.run("%new")
    assert "allowed by the rule Bash(echo out)" in front_end.run("demo: shell echo out", live=False).text


def test_a_rule_that_means_everything_is_set_with_a_warning(fresh: FrontEnd) -> None:
    outcome = fresh.run("%permissions allow Bash(python *)")
    assert "Careful: Bash(python *): python can run any other program" in outcome.text
    assert "Bash(python *)" in fresh.run("%status").text


# -- the agent ------------------------------------------------------------------------------------------------------


def test_another_agent_takes_the_place_of_the_one_that_runs(fresh: FrontEnd) -> None:
    fresh.run("demo: say Before")
    before = fresh.children()
    assert fresh.run(f"%agent {DEMO}").text.startswith("✓ The next prompt starts")
    assert not [process for process in before if process.is_running() and process.status() != "zombie"]
    assert "This is prompt 1 of this session" in fresh.run("demo: remember").text
    outcome = fresh.run("%agent")
    assert (value_of(outcome, "Command"), value_of(outcome, "Set by")) == (DEMO, "%agent")


def test_a_restart_ends_the_agent_and_the_conversation_goes_on(fresh: FrontEnd) -> None:
    fresh.run("demo: say Apples")
    before = fresh.children()
    assert fresh.run("%restart").status == "ok"
    assert not [process for process in before if process.is_running() and process.status() != "zombie"]
    assert "Apples" in fresh.run("demo: remember").text


def test_signing_in_and_out(start_kernel: StartKernel, tmp_path: Path) -> None:
    front_end = start_kernel(**own(tmp_path, COPILOT_KERNEL_DEMO="signed-out,auth=agent"))
    assert front_end.run("demo: say Hello").error[0] == "AuthRequired"
    assert front_end.run("%login").text == "✓ Signed in."
    assert front_end.run("demo: say Hello").status == "ok"
    assert front_end.run("%logout").text == "✓ Signed out."
    assert front_end.run("demo: say Hello").error[0] == "AuthRequired"
    completed = front_end.ask("complete_request", {"code": "%login d", "cursor_pos": 8})
    assert completed["matches"] == ["demo-account"]


def test_the_servers_are_shown_without_their_secrets(start_kernel: StartKernel, tmp_path: Path) -> None:
    servers = (
        '[{"name": "files", "command": "files-server", "args": []},'
        ' {"name": "web", "type": "http", "url": "http://localhost/", "headers": [{"name": "Key", "value": "hush"}]}]'
    )
    front_end = start_kernel(**own(tmp_path, COPILOT_KERNEL_MCP_SERVERS=servers))
    before = front_end.run("%mcp").text
    front_end.run("%mode agent")
    after = front_end.run("%mcp").text
    assert ("files-server" in before, "when the agent starts" in before) == (True, True)
    assert "hush" not in before + after
    assert "not passed: demo agent does not take servers of type http" in after


def test_the_log_has_what_went_over_the_wire(rich: FrontEnd) -> None:
    rich.run("demo: say Needle")
    lines = rich.run("%log").text.splitlines()
    assert any(line.startswith("> ") and "session/prompt" in line for line in lines)
    assert any(line.startswith("< ") and "Needle" in line for line in lines)
    assert len(rich.run("%log 1").text.splitlines()) == 2


# -- files ----------------------------------------------------------------------------------------------------------


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
