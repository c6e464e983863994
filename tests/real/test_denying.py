"""Copilot with rules of ours that deny, in a mode of ours that allows everything: what it does not even ask about."""

import json
from typing import Any

import pytest

from .agents import Agent
from .book import Json, Notebook, opened

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]

RULES = (
    *("Bash(touch *)", "Bash(git push *)", "Bash(npm test)", "Edit(.env)", "Edit(sub/**)"),
    *("Read(secret.txt)", "WebFetch(domain:*.example.com)", "mcp__files__delete"),
)
"""Each form that can be expressed."""


def acts(book: Notebook) -> dict[str, tuple[str, Json]]:
    """By the name of what came of it, a call of one of Copilot's tools."""
    agent, project = book.agent, book.project
    return {
        "command": agent.shell("touch made"),
        "second of two": agent.shell("echo one && touch made"),
        "words": agent.shell("git push origin main; echo pushed"),
        "exact": agent.shell("npm test"),
        "file": agent.create(project / ".env", "x"),
        "folder": agent.create(project / "sub" / "a.txt", "x"),
        "read": agent.read(project / "secret.txt"),
        "other command": agent.shell("echo other > other"),
        "other words": agent.shell("git status; echo looked > looked"),
        "other file": agent.create(project / "env", "x"),
    }


def _act(book: Notebook, call: tuple[str, Json]) -> Json:
    """Without buttons, for none is to be pressed."""
    seen = book.ask({"call": [call]}, {"say": "Over."})
    asked = "session/request_permission" in book.run("%log 1000")["text"]
    return {"asked": asked, "said": "was denied due to the following rules" in seen["text"], "text": seen["text"]}


def play(agent: Agent) -> Json:
    settings = {"COPILOT_KERNEL_PERMISSION_MODE": "bypassPermissions", "COPILOT_KERNEL_DENY": json.dumps(RULES)}
    with opened(agent, **settings) as book:
        (book.project / "sub").mkdir()
        (book.project / "secret.txt").write_text("a secret")
        found = {name: _act(book, call) for name, call in acts(book).items()}
        return {"acts": found, "files": sorted(path.name for path in book.project.rglob("*"))}


# -- tests ----------------------------------------------------------------------------------------------------


DENIED = ("command", "second of two", "words", "exact", "file", "folder", "read")
OTHER = ("other command", "other words", "other file")


@pytest.mark.parametrize("act", DENIED)
def test_what_is_denied_is_refused_by_the_agent_itself(denied: dict[str, Any], act: str) -> None:
    seen = denied["acts"][act]
    assert (seen["asked"], seen["said"]) == (False, True), seen["text"]


@pytest.mark.parametrize("act", OTHER)
def test_what_is_not_denied_is_asked_about_as_ever(denied: dict[str, Any], act: str) -> None:
    assert (denied["acts"][act]["asked"], denied["acts"][act]["said"]) == (True, False)


def test_nothing_that_was_denied_was_done(denied: dict[str, Any]) -> None:
    assert denied["files"] == ["chat.ipynb", "env", "looked", "notes.txt", "other", "secret.txt", "sub"]
