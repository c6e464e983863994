"""Real agents work in the sandbox, offline; what they try outside of the project fails."""

from typing import Any

import pytest
from copilot_kernel.sandbox.sandbox import SUMMARY

from .agents import COPILOT

Json = dict[str, Any]

pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.sandbox,
    pytest.mark.usefixtures("isolated"),
]


def test_a_whole_turn_is_done_inside(confined_turns: Json) -> None:
    first = confined_turns["first"]
    assert (first["texts"][0].endswith("All done."), first["sandbox"]) == (True, SUMMARY)
    assert confined_turns["files"] == {
        "notes.txt": "one\nTWO\nthree\n",
        "new.txt": "new\n",
        "made": "made\n",
        "filtered": "filtered\n",
    }
    assert confined_turns["staged"]


def test_with_a_list_of_hosts_a_model_on_a_listed_port_is_reached(confined_turns: Json) -> None:
    third = confined_turns["third"]
    assert third["texts"][0].endswith("All done.")
    assert third["sandbox"].startswith(f"{SUMMARY}; network: 127.0.0.1:")


def test_what_leads_out_of_the_project_is_refused(confined_turns: Json) -> None:
    assert (confined_turns["held"], confined_turns["refused"]) == (True, True)


def test_the_next_conversation_resumes_the_session(confined_turns: Json) -> None:
    assert "I remember: blue" in confined_turns["second"]["texts"][0]


@pytest.mark.parametrize("confined_turns", [COPILOT], indirect=True, ids=str)
def test_the_notebooks_tools_are_reached_over_http(confined_turns: Json) -> None:
    assert (confined_turns["read the notebook"], confined_turns["read the notebook later"]) == (True, True)
