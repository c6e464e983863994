"""Commands and permissions in a conversation with the demo agent."""

import json
import shlex
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.commands.agent_commands import NO_CHOICE, SET_AN_OPTION, TO_CHANGE
from copilot_kernel.errors import AgentNotFound, AgentRefused, AuthRequired, ModelFailed

from ..agent.command import COMMAND
from .session import Outcome, Session, session

DEMO = shlex.join(COMMAND)
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PLAN = "https://agentclientprotocol.com/protocol/session-modes#plan"

Start = Callable[..., Session]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a session of the test's own, with `NAME=value` settings."""
    with ExitStack() as stack:
        yield lambda **environ: stack.enter_context(session(tmp_path, **environ))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Whose agent has everything to choose from."""
    with session(tmp_path_factory.mktemp("shared"), COPILOT_KERNEL_DEMO="uri-modes,more-options") as made:
        yield made


@pytest.fixture
def demo(shared: Session) -> Session:
    """The shared session, in which a new conversation begins."""
    shared.run("%new")
    return shared


# -- what the agent lets the user set -------------------------------------------------------------------------------


def test_a_mode_is_typed_short_and_sent_as_the_agents_own(demo: Session) -> None:
    demo.run("%mode agent")
    assert demo.run("%mode plan").text == "✓ Mode: Plan"
    assert (demo.status("Mode"), PLAN in demo.run("%log 3").text) == ("Plan", True)


def test_a_model_and_an_option_are_set(demo: Session) -> None:
    demo.run("%model scripted")
    assert demo.run("%model scripted-large").text == "✓ Model: Scripted, large (scripted-large)"
    assert demo.run("%options effort high").text == "✓ Effort: High"
    assert demo.run("%options allow_all on", answer="1").text.endswith("✓ Allow everything: on")
    assert (demo.status("Effort"), demo.status("Allow everything")) == ("High", "on")


def test_what_an_agent_does_not_list_is_sent_and_its_answer_decides(start: Start) -> None:
    made = start(COPILOT_KERNEL_DEMO="no-options")
    refused = made.run("%model large").error
    assert (type(refused), "session/set_model" in made.run("%log 4").text) == (AgentRefused, True)
    assert str(made.run("%model").error) == NO_CHOICE.format("model")


def test_a_notebook_without_widgets_shows_the_choices_and_what_to_type(demo: Session) -> None:
    demo.run("%mode agent")
    lines = demo.run("%mode").text.splitlines()
    assert (lines[0], lines[-1]) == ("Mode", TO_CHANGE.format("mode", "plan"))
    assert SET_AN_OPTION in demo.run("%options").text
    assert (
        demo.run("%options effort").text.splitlines()[-1].startswith("To change it, type for example %options effort ")
    )


def test_the_same_can_be_typed_with_a_slash_unless_the_agent_has_it(demo: Session) -> None:
    assert demo.run("/mode plan").text == "✓ Mode: Plan"
    assert "demo agent" in demo.run("/help").text
    demo.run("demo: commands mode")
    assert "Mode:" not in demo.run("/mode plan", answer="1").text
    demo.run("demo: commands")


def test_even_in_the_first_cell_a_slash_is_the_agents(start: Start) -> None:
    assert "You are talking to the **demo agent**" in start().run("/help").text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("%mode plam", 'Unknown mode "plam".'),
        ("%options colour red", 'Unknown option "colour".'),
        ("%permissions deny Bash()", "The parentheses are empty"),
        ("%permissions remove Read", "Read"),
        ("%resume nonsense", "Unknown session nonsense."),
        ("%attach nothing.txt", "nothing.txt"),
        ("%agent nobody", "The agent's program nobody was not found"),
        ("%login nonsense", "nonsense"),
    ],
)
def test_what_cannot_be_done_is_an_error_and_changes_nothing(demo: Session, code: str, words: str) -> None:
    demo.run("%mode agent")
    before = demo.run("%status").text
    assert words in str(demo.run(code).error)
    assert demo.run("%status").text == before


def test_the_log_has_what_went_over_the_wire(demo: Session) -> None:
    demo.run("demo: say Needle")
    lines = demo.run("%log").text.splitlines()
    assert any(line.startswith("> ") and "session/prompt" in line for line in lines)
    assert any(line.startswith("< ") and "Needle" in line for line in lines)
    assert len(demo.run("%log 1").text.splitlines()) == 2


def test_attached_and_mentioned_files_go_with_the_prompt(demo: Session) -> None:
    (demo.work / "pixel.png").write_bytes(PIXEL)
    (demo.work / "my notes.txt").write_text("notes")
    assert "image/png" in demo.run("%attach pixel.png").text
    text = demo.run('%attach "my notes.txt"\n\ndemo: echo\nthink @pixel.png').text
    assert [word for word in ("image", "my notes.txt", "pixel.png", "resource_link") if word not in text] == []
    assert "Nothing is attached" in demo.run("%attach").text
    rows = [line.split() for line in demo.run("%context").text.splitlines()[-3:]]
    assert rows == [["pixel.png", "a", "link"], ["image/png", "72", "bytes"], ["my", "notes.txt", "a", "link"]]


UNWATCHED = (
    "%status",
    "%help mode",
    "%mode",
    "%model",
    "%options",
    "%permissions",
    "%agent",
    "%mcp",
    "%attach",
    "%context",
)


def test_without_a_person_a_run_is_like_another(tmp_path: Path) -> None:
    def seen(name: str) -> list[Any]:
        folder = tmp_path / name
        folder.mkdir()
        with session(folder, COPILOT_KERNEL_DEMO="more-options") as made:
            return [made.run(code, live=False) for code in ("demo: say Apples", "%sessions", *UNWATCHED)]

    assert seen("one") == seen("other")


# -- permissions ----------------------------------------------------------------------------------------------------


def test_the_permission_mode_holds_for_one_conversation(demo: Session) -> None:
    def asked() -> str:
        return demo.run("demo: ask Something", live=False).text

    assert "denied" in asked()
    assert "⚠ You will not be asked" in demo.run("%permissions mode bypassPermissions", answer="1").text
    assert "denied" not in asked()
    assert "⚠ You will not be asked" in demo.run("%status").text
    assert "permissions: bypassPermissions" in demo.run("demo: say hi", live=False).text
    demo.run("%new")
    assert "denied" in asked()


def test_a_rule_is_set_shown_obeyed_logged_and_taken_back(demo: Session) -> None:
    def ran() -> str:
        return demo.run("demo: shell echo out", live=False).text

    assert "denied" in ran()
    allowed = demo.run("%permissions allow Bash(echo *)", answer="1").text
    assert allowed.endswith("✓ Allowed in this conversation: Bash(echo *)")
    assert "allowed by rule “Bash(echo *)”" in ran()
    demo.run("%permissions deny Bash(echo out)")
    assert "denied by rule “Bash(echo out)”" in ran()
    shown = demo.run("%permissions").text
    assert ["allow", "Bash(echo", "*)", "this", "conversation"] in [line.split() for line in shown.splitlines()]
    decided = [line.split() for line in shown.splitlines() if "$ echo out" in line]
    assert [(row[4], row[5]) for row in decided[-3:]] == [
        ("denied", "none"),
        ("allowed", "rule"),
        ("denied", "rule"),
    ]
    assert "No longer in force" in demo.run("%permissions remove Bash(echo out)", answer="1").text
    assert "allowed by rule “Bash(echo *)”" in ran()
    demo.run("%new")
    assert "denied" in ran()


def test_a_rule_that_means_everything_is_set_with_a_warning(demo: Session) -> None:
    text = demo.run("%permissions allow Bash(python *)", answer="1").text
    assert "⚠ Bash(python *): “python” can run any program" in text
    assert "Bash(python *)" in demo.run("%status").text


def test_a_rule_can_be_kept_in_the_config_file(start: Start, tmp_path: Path) -> None:
    made = start()
    config = tmp_path / "jupyter_config_dir" / "copilot_kernel.json"
    said = made.run("%permissions allow Bash(echo out) --save", answer="1").text
    assert said.splitlines()[-1] == f"✓ Allowed from now on: Bash(echo out) (saved in {config})."
    assert json.loads(config.read_text()) == {"allow": ["Bash(echo out)"], "version": 1}
    made.run("%new")
    assert "allowed by rule “Bash(echo out)”" in made.run("demo: shell echo out", live=False).text
    assert f"It is still in: {config}" in made.run("%permissions remove Bash(echo out)").text


def test_the_reason_of_a_no_goes_to_the_agent_and_its_answer_into_the_same_cell(demo: Session) -> None:
    text = demo.run("demo: shell touch made", "3 because demo: say I shall not touch it").text
    places = [text.rfind(each) for each in ("denied by you", "You told the agent: demo: say", "I shall not touch it")]
    assert (places == sorted(places), -1 in places, text.count("demo agent, ")) == (True, False, 1)
    assert "This is prompt 3 of this session" in demo.run("demo: remember").text


# -- sessions -------------------------------------------------------------------------------------------------------


def ids(made: Session) -> dict[str, str]:
    """Titles and short ids of the sessions of this folder."""
    rows = [line.split("  ") for line in made.run("%sessions").text.splitlines()[2:-1]]
    return {row[1]: row[0] for row in rows}


def test_sessions_are_listed_resumed_closed_and_deleted(start: Start) -> None:
    made = start()
    made.run("demo: say Apples")
    made.run("%new")
    assert "This is prompt 1 of this session" in made.run("demo: remember").text
    titles = ids(made)
    apples = next(short for title, short in titles.items() if "Apples" in title)
    resumed = made.run(f"%resume {apples}").text
    assert ("say Apples" in resumed, "✓ Resumed: " in resumed, made.status("Session")[:8]) == (True, True, apples)

    assert made.run("%resume last").error is None
    assert made.status("Session")[:8] == next(short for title, short in titles.items() if "Apples" not in title)
    assert apples in made.run("%resume").text
    assert made.run("%close").error is None
    assert made.status("Session") == "none is open"
    assert made.run(f"%delete {apples}").text.startswith("✓ Deleted: ")
    assert apples not in ids(made).values()


# -- the agent ------------------------------------------------------------------------------------------------------


def test_an_agent_is_started_again_and_changed(start: Start) -> None:
    made = start()
    made.run("demo: say Apples")
    assert made.run("%restart").error is None
    assert "Apples" in made.run("demo: remember").text
    assert "· The next prompt goes to it." in made.run(f"%agent {DEMO}", answer="1").text
    assert "This is prompt 1 of this session" in made.run("demo: remember").text
    text = made.run("%agent").text
    assert (DEMO in text, "%agent" in text) == (True, True)


def test_signing_in_and_out(start: Start) -> None:
    made = start(COPILOT_KERNEL_DEMO="signed-out,auth=meta+agent")
    refused = made.run("demo: say Hello", answer="2")
    assert (type(refused.error), refused.text.splitlines()[-1]) == (AuthRequired, "ℹ Not signed in.")
    assert made.run("%login").text == "✓ Signed in."
    assert made.run("demo: say Hello").error is None
    assert made.run("%logout").text == "✓ Signed out."
    again = made.run("demo: say Hello", answer="1")
    asked = again.text.index("ℹ Sign in now? → Sign in and run again\n✓ Signed in.\n")
    assert (again.error, "\nHello\n" in again.text[asked:]) == (None, True)


@pytest.mark.parametrize(("auth", "live", "typed"), [
    ("agent", False, "`%login`"), ("meta", True, "python tests/agent --login"), ("meta", False, "python tests/agent"),
])  # fmt: skip
def test_where_no_sign_in_can_be_offered_the_error_names_what_to_type(
    start: Start, auth: str, live: bool, typed: str
) -> None:
    refused = start(COPILOT_KERNEL_DEMO=f"signed-out,auth={auth}").run("demo: say Hello", live=live)
    assert (type(refused.error), typed in refused.text) == (AuthRequired, True)


@pytest.mark.parametrize("live", [True, False])
def test_a_failure_that_copilot_reports_as_text_is_a_card_and_shown_once(start: Start, live: bool) -> None:
    made = start(COPILOT_KERNEL_DEMO="name=Copilot")
    outcome = made.run("demo: say Half an ans\nsay Error: 402 You have no quota", live=live)
    assert (type(outcome.error), str(outcome.error)) == (ModelFailed, "402 You have no quota")
    assert [outcome.text.count(words) for words in ("Half an ans", "You have no quota")] == [1, 1]
    assert "choose another model" in outcome.text


def test_the_servers_are_shown_without_their_secrets(start: Start) -> None:
    servers = (
        '[{"name": "files", "command": "files-server", "args": []},'
        ' {"name": "web", "type": "http", "url": "http://localhost/", "headers": [{"name": "Key", "value": "hush"}]}]'
    )
    made = start(COPILOT_KERNEL_MCP_SERVERS=servers)
    before = made.run("%mcp").text
    made.run("%mode agent")
    after = made.run("%mcp").text
    assert ("files-server" in before, "once the agent runs" in before) == (True, True)
    assert "hush" not in before + after
    assert "not passed: demo agent does not support http servers" in after


# -- a notebook over the lives of its kernels -----------------------------------------------------------------------


def lives(folder: Path, *cells: str, live: bool = True, **environ: str) -> list[Outcome]:
    """Each cell in a kernel of its own; the files that they keep are the same."""
    outcomes = []
    for cell in cells:
        with session(folder, COPILOT_KERNEL_STATE=str(folder / "state"), **environ) as made:
            outcomes.append(made.run(cell, live=live))
    return outcomes


def test_the_next_kernel_of_a_notebook_goes_on_but_not_in_batch(tmp_path: Path) -> None:
    (book := tmp_path / "book.ipynb").write_text("{}")
    cells = ("demo: say one", "demo: remember")
    batch = lives(tmp_path, *cells, live=False, JPY_SESSION_NAME=str(book))[1]
    assert ("Resumed" in batch.text, (tmp_path / "state" / "sessions").exists()) == (False, False)
    watched = lives(tmp_path, *cells, JPY_SESSION_NAME=str(book))[1].text
    assert ("Resumed the conversation" in watched, "say one" in watched) == (True, True)


def test_behind_a_gateway_the_first_cell_says_where_the_agent_works(tmp_path: Path) -> None:
    (outcome,) = lives(tmp_path, "hello", KERNEL_GATEWAY="1", COPILOT_KERNEL_CWD="", COPILOT_KERNEL_AGENT="no-such")
    assert isinstance(outcome.error, AgentNotFound)
    assert "The agent works in" in outcome.text


def test_behind_a_gateway_the_agent_works_in_the_notebooks_folder_and_remembers_for_its_user(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    named = {"KERNEL_WORKING_DIR": str(project), "JPY_SESSION_NAME": "/elsewhere/book.ipynb"}
    gateway = {"KERNEL_GATEWAY": "1", "COPILOT_KERNEL_CWD": "", **named}
    cells = ("demo: unasked pwd; false", "demo: remember", "demo: remember")
    users = ("alice", "bob", "alice")
    mine, his, again = (
        lives(tmp_path, cell, **gateway, KERNEL_USERNAME=user)[0].text for cell, user in zip(cells, users, strict=True)
    )
    assert (str(project) in mine, "The agent works in" in mine) == (True, False)
    assert ["Resumed the conversation" in text for text in (his, again)] == [False, True]
