"""A real agent in the sandbox: edits, a command, the notebook's tools over HTTP, a session that is resumed, and a turn
with a list of hosts.
"""

import asyncio
import json
import os
import shlex
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from copilot_kernel import config
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import Chat
from copilot_kernel.sandbox.sandbox import SUMMARY

from ..chat.people import Person
from ..notebook_tools.fakes import FakeNotebook
from . import model
from .agents import COPILOT, PEERS, Agent
from .model import prompt
from .played import Json

pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.sandbox,
    pytest.mark.usefixtures("isolated"),
]

SECONDS = 300
COMMAND = (
    "echo made > made; echo bad >> .git/config; echo bad > ../outside; ls -A ~; git add notes.txt made; git status -s"
)


async def _said(prompts: list[str], name: str = "book.ipynb") -> Json:
    """What was answered in one conversation of the notebook, and what a reader saw."""
    settings, person = config.load(), Person()
    book = Path(settings.folder, name)
    async with asyncio.timeout(SECONDS), Chat(settings, str(book), live=FakeNotebook("x = 1")) as chat:
        turns = [await chat.ask([TextBlock(each)], person) for each in prompts]
        state = chat.agent.sandbox_state
    return {"texts": [turn.text for turn in turns], "notices": person.notices, "sandbox": state}


def _begun(agent: Agent, project: Path) -> list[str]:
    notes = project / "notes.txt"
    steps = [
        {"call": [agent.read(notes)]},
        {"call": [agent.edit(notes, "two", "TWO")]},
        {"call": [agent.create(project / "new.txt", "new\n")]},
        {"call": [agent.shell(COMMAND)]},
        *_tools(agent),
        {"say": "All done."},
    ]
    return [prompt(*steps, note="blue")]


def _filtered(agent: Agent) -> list[str]:
    return [prompt({"call": [agent.shell("echo filtered > filtered")]}, *_tools(agent), {"say": "All done."})]


def _tools(agent: Agent) -> list[Json]:
    return [{"call": [("notebook-read_notebook", {})]}] if agent is COPILOT else []


def play(agent: Agent) -> Json:
    home = Path(os.environ["HOME"])
    project = home / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "notes.txt").write_text("one\ntwo\nthree\n")
    before = (project / ".git/config").read_text()
    with model.running() as scripted:
        os.environ.update(
            agent.configure(home, scripted.url),
            COPILOT_KERNEL_AGENT=shlex.join(agent.command()),
            COPILOT_KERNEL_SANDBOX="required",
            COPILOT_KERNEL_CWD=str(project),
            COPILOT_KERNEL_STATE=str(home / "kernel-state"),
        )
        first = asyncio.run(_said(_begun(agent, project)))
        agent.later(home)
        second = asyncio.run(_said([prompt({"recall": True}, note="seven")]))
        sent = json.dumps([body for _, body in scripted.requests])
        before_third = len(scripted.requests)
        os.environ["PATH"] += f":{PEERS / '.bin'}"
        os.environ["COPILOT_KERNEL_SANDBOX_HOSTS"] = json.dumps([urlsplit(scripted.url).netloc])
        third = asyncio.run(_said(_filtered(agent), "other.ipynb"))
        sent_later = json.dumps([body for _, body in scripted.requests[before_third:]])
    findings = {
        "first": first,
        "second": second,
        "third": third,
        "files": {name: (project / name).read_text() for name in ("notes.txt", "new.txt", "made", "filtered")},
        "held": (project / ".git/config").read_text() == before and not (home / "outside").exists(),
        "refused": "Read-only file system" in sent,
        "read the notebook": "x = 1" in sent,
        "read the notebook later": "x = 1" in sent_later,
        "staged": "A  made" in sent,
    }
    return findings


# -- tests ----------------------------------------------------------------------------------------------------


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
