"""A real agent in the sandbox: edits, a command, the notebook's tools over HTTP, a session that is resumed, and a turn
with a list of hosts.
"""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import open_chat
from copilot_kernel.chat.agent_start import READ_ONLY
from copilot_kernel.config_reader import load_settings
from copilot_kernel.sandbox.sandbox import SUMMARY

from ..chat.people import Person
from ..notebook_tools.fakes import FakeNotebook
from . import model
from .agents import COPILOT, FILE, NOTES, PEERS, PROJECT, Agent
from .conftest import played
from .plays import Json

pytestmark = [
    pytest.mark.real_agent,
    pytest.mark.sandbox,
]

SECONDS = 300
COMMAND = (
    "echo made > made; echo bad >> .git/config; echo bad > ../outside; ls -A ~; git log --format=log:%s; "
    "git diff --no-color --no-ext-diff; git commit -qam more"
)


async def _said(prompt: str, name: str = "book.ipynb") -> Json:
    """What was answered in a conversation of the notebook, and what a reader saw."""
    settings, person = load_settings(), Person()
    book = Path(settings.folder, name)
    async with asyncio.timeout(SECONDS), open_chat(settings, str(book), live=FakeNotebook("x = 1")) as chat:
        turn = await chat.ask([TextBlock(prompt)], person)
        return {"text": turn.text, "notices": person.notices, "sandbox": chat.agent.sandbox_state}


def _git_folder(project: Path) -> dict[str, str]:
    """Each file of Git's, with what is in it."""
    files = (path for path in (project / ".git").rglob("*") if path.is_file())
    return {str(path): path.read_bytes().hex() for path in files}


def play(agent: Agent) -> Json:
    home = Path(os.environ["HOME"])
    project = home / "project"
    project.mkdir(exist_ok=True)
    (project / "notes.txt").write_text(NOTES)
    for words in ("init -q", "add .", "-c user.name=x -c user.email=x commit -qm begun"):
        subprocess.run(["git", "-C", str(project), *words.split()], check=True)
    before = _git_folder(project)
    look: list[Json] = [{"call": [("notebook-read_notebook", {})]}] if agent is COPILOT else []
    steps = (
        {"call": [("read", FILE)]},
        {"call": [("edit", FILE, "two", "TWO")]},
        {"call": [("create", f"{PROJECT}/new.txt", "new\n")]},
        {"call": [("shell", COMMAND)]},
    )
    with model.running() as scripted:
        os.environ.update(
            agent.settings(home, scripted.url),
            COPILOT_KERNEL_SANDBOX="required",
            COPILOT_KERNEL_CWD=str(project),
            COPILOT_KERNEL_STATE=str(home / "kernel-state"),
        )
        first = asyncio.run(_said(agent.prompt(project, *steps, *look, {"say": "All done."}, note="blue")))
        agent.later(home)
        second = asyncio.run(_said(agent.prompt(project, {"recall": True}, note="seven")))
        sent, before_third = json.dumps(scripted.requests), len(scripted.requests)
        os.environ["PATH"] += f":{PEERS / '.bin'}"
        os.environ["COPILOT_KERNEL_SANDBOX_HOSTS"] = json.dumps([urlsplit(scripted.url).netloc])
        filtered = agent.prompt(project, {"call": [("shell", "echo filtered > filtered")]}, *look, {"say": "All done."})
        third = asyncio.run(_said(filtered, "other.ipynb"))
    return {
        "first": first,
        "second": second,
        "third": third,
        "files": {name: (project / name).read_text() for name in ("notes.txt", "new.txt", "made", "filtered")},
        "held": _git_folder(project) == before and not (home / "outside").exists(),
        "refused": "Read-only file system" in sent,
        "read the notebook": ["x = 1" in text for text in (sent, json.dumps(scripted.requests[before_third:]))],
        "git": [text in sent for text in ("log:begun", "+TWO", READ_ONLY)],
    }


# -- tests ----------------------------------------------------------------------------------------------------


@played("test_confined.play")
def test_a_whole_turn_is_done_inside(seen: Json) -> None:
    first = seen["first"]
    assert (first["text"].endswith("All done."), first["sandbox"]) == (True, SUMMARY)
    assert seen["files"] == {
        "notes.txt": "one\nTWO\nthree\n",
        "new.txt": "new\n",
        "made": "made\n",
        "filtered": "filtered\n",
    }
    assert seen["git"] == [True] * 3


@played("test_confined.play")
def test_with_a_list_of_hosts_a_model_on_a_listed_port_is_reached(seen: Json) -> None:
    third = seen["third"]
    assert third["text"].endswith("All done.")
    assert third["sandbox"].startswith(f"{SUMMARY}; network: 127.0.0.1:")


@played("test_confined.play")
def test_what_leads_out_of_the_project_is_refused(seen: Json) -> None:
    assert (seen["held"], seen["refused"]) == (True, True)


@played("test_confined.play")
def test_the_next_conversation_resumes_the_session(seen: Json) -> None:
    assert "I remember: blue" in seen["second"]["text"]


@played("test_confined.play", COPILOT)
def test_the_notebooks_tools_are_reached_over_http(seen: Json) -> None:
    assert seen["read the notebook"] == [True, True]
