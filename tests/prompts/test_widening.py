"""What text in a cell may do to the limits of the agent: tighten them, and widen them only by the user's answer."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree

import pytest
from copilot_kernel.chat.introduction import introduction
from copilot_kernel.chat.trust import HINT_AGAIN, UNTRUSTED
from copilot_kernel.commands.command_output import DECLINED, WIDEN_HINT
from copilot_kernel.config import Settings
from copilot_kernel.errors import UsageError
from copilot_kernel.pages.page_reporter import PageReporter

from ..agent.command import COMMAND
from ..notebook_tools.fakes import FakeNotebook
from .session import Session, session

WIDENING = [
    "%permissions mode acceptEdits",
    "%permissions mode bypassPermissions",
    "%permissions allow Read",
    "%permissions allow Read --save",
    "%permissions remove Bash(rm *)",
    f"%agent {COMMAND[0]} -c pass",
    "%options allow_all on",
    "%options mode autopilot",
    "%mode autopilot",
]
TIGHTENING = [
    "%permissions mode plan",
    "%permissions deny Read",
    "%permissions ask Read --save",
    "%options effort medium",
    "%options allow_all off",
    "%mode plan",
    "%model scripted-large",
    "%agent demo",
]
RULES = {"COPILOT_KERNEL_DENY": '["Bash(rm *)"]', "COPILOT_KERNEL_DEMO": "uri-modes,more-options"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with session(tmp_path_factory.mktemp("shared"), **RULES) as made:
        yield made


def state(made: Session) -> str:
    return made.run("%status", live=False).text + made.run("%permissions", live=False).text


@pytest.mark.parametrize("code", WIDENING)
def test_what_widens_fails_in_a_batch_run(shared: Session, code: str) -> None:
    shared.run("%model scripted")
    before = state(shared)
    error = shared.run(code, live=False).error
    assert isinstance(error, UsageError)
    assert error.hint == WIDEN_HINT
    assert state(shared) == before


@pytest.mark.parametrize("code", WIDENING)
def test_what_widens_is_the_users_to_allow(shared: Session, code: str) -> None:
    shared.run("%model scripted")
    before = state(shared)
    error = shared.run(code, answer="2").error
    assert isinstance(error, UsageError)
    assert str(error).endswith(DECLINED.format(""))
    assert state(shared) == before


@pytest.mark.parametrize("code", TIGHTENING)
def test_what_tightens_needs_no_answer(tmp_path: Path, code: str) -> None:
    with session(tmp_path, **RULES) as made:
        assert made.run(code, live=False).error is None
        assert made.run("%permissions mode plan", live=False).error is None


def test_each_value_is_asked_once(tmp_path: Path) -> None:
    with session(tmp_path, **RULES) as made:
        assert made.run("%permissions mode acceptEdits", answer="1").error is None
        made.run("%permissions mode plan")
        assert made.run("%permissions mode default", answer="1").error is None  # also back to where it began
        assert made.run("%permissions mode plan").error is None
        assert made.run("%permissions mode default").error is None
        assert made.run("%permissions mode bypassPermissions", answer="2").error is not None


class Reports(PageReporter):
    """Notes what it is told of the agent's commands and modes."""

    def __init__(self, reports: list[Sequence[str]]) -> None:
        super().__init__()
        self.report = reports.append


def test_a_command_of_the_agents_own_needs_the_users_answer_and_is_shown_from_then_on(tmp_path: Path) -> None:
    """As `%options` does, whose change between two turns the page is told of at once."""
    with session(tmp_path, **RULES) as made:
        made.run("demo: commands allow-all cwd")
        assert "no one can answer here" in str(made.run("/allow-all on", live=False).error)
        assert "denied by you" in str(made.run("/allow-all on", answer="2").error)
        assert "COPILOT_KERNEL_CWD" in made.run("/cwd /", answer="1").text
        assert made.status("Its own commands and modes") == ""
        shown = made.run("/allow-all on", answer="1")
        assert (shown.error, "⚠ does not ask: /allow-all on" in shown.text) == (None, True)
        assert made.status("Its own commands and modes") == "does not ask: /allow-all on"
        reports = list[Sequence[str]]()
        made.kernel_session._notebook = notebook = FakeNotebook()
        notebook.reporter = Reports(reports)
        assert "The agent will no longer ask" in made.run("%mode autopilot", answer="1").text
        assert reports[-1] == ("does not ask: mode autopilot",)
        assert made.run("%mode agent").error is None
        assert reports[-1] == () != made.status("Mode")


def test_a_change_between_the_two_in_the_middle_asks(tmp_path: Path) -> None:
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="acceptEdits") as made:
        assert made.run("%permissions mode sandboxed", live=False).error is not None


def test_the_first_prompt_says_what_is_not_the_default(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Be kind.")
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="plan") as made:
        made.kernel_session.notices.is_introduced = False
        line = "agent: demo · permission mode: plan · instructions: AGENTS.md"
        assert line in made.run("demo: say one").text
        assert line not in made.run("demo: say two").text
        assert made.status("Instructions") == "AGENTS.md"


def test_with_defaults_nothing_is_said(tmp_path: Path) -> None:
    assert introduction(Settings(cwd=str(tmp_path)), "default") == ""


def test_what_is_trusted_is_listed_and_can_be_taken_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="acceptEdits", JUPYTER_DATA_DIR=str(data)) as made:
        made.run("demo: say one")
        trusted = [line.split()[0] for line in made.run("%permissions").text.splitlines() if "COPILOT_KERNEL_" in line]
        assert trusted
        assert "was trusted" in made.run(f"%permissions revoke {trusted[0]}").text
        left = made.run("%permissions").text
        assert [each for each in trusted if each in left] == trusted[1:]
        assert isinstance(made.run(f"%permissions revoke {trusted[0]}").error, UsageError)


FIRST = [
    "%attach notes.txt\ndemo: say done",
    "%sessions",
    "%resume last",
    "%model",
    "%model scripted",
    "%mode",
]


@pytest.mark.parametrize("code", FIRST)
def test_a_command_before_the_first_prompt_asks_what_a_prompt_would_ask(tmp_path: Path, code: str) -> None:
    data = tmp_path / "data"
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="acceptEdits", JUPYTER_DATA_DIR=str(data)) as made:
        rmtree(data / "copilot_kernel" / "trusted")
        (made.work / "notes.txt").write_text("notes")
        refused = made.run(code, answer="2").error
        assert isinstance(refused, UsageError)
        assert refused.hint == HINT_AGAIN
        for answer in ("1", ""):
            assert UNTRUSTED.format("") not in str(made.run(code, answer=answer).error)


def test_in_a_batch_run_such_a_command_takes_the_environment_for_the_users_as_a_prompt_does(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with session(tmp_path, COPILOT_KERNEL_PERMISSION_MODE="acceptEdits", JUPYTER_DATA_DIR=str(data)) as made:
        rmtree(data / "copilot_kernel" / "trusted")
        assert made.run("%model", live=False).error is None


def test_while_settings_cannot_be_read_each_prompt_says_so_and_nothing_is_allowed(tmp_path: Path) -> None:
    config = tmp_path / "jupyter_config_dir"
    config.mkdir()
    (config / "copilot_kernel.json").write_text('{"deny": ["Bash(rm *)"],}')
    with session(tmp_path) as made:
        for _ in range(2):
            assert f"⚠ {config}/copilot_kernel.json: " in made.run("demo: say done").text
        for code in ("%permissions allow Edit", "%permissions mode acceptEdits"):
            assert "While settings cannot be read, every call asks." in str(made.run(code, answer="1").error)
        assert made.run("%permissions deny Read").error is None
        made.run("demo: create a.txt text", live=False)
        assert [*made.work.iterdir()] == []
        assert made.run("%permissions mode plan").error is None
        assert made.run("%permissions mode default", answer="1").error is not None
