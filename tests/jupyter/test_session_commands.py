"""Conversations that are listed, resumed and closed, and the agent that is changed and started again, by commands."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from .commanding import Picked, own, status, value_of
from .conftest import StartKernel
from .front_end import FrontEnd

DEMO = shlex.join([sys.executable, "-P", "-m", "copilot_kernel.demo"])


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
