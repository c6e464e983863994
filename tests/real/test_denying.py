"""Copilot with rules of ours that deny, in a mode of ours that allows everything: what it does not even ask about."""

import json

import pytest

from . import model
from .agents import COPILOT, PROJECT, Agent
from .book import Json, Notebook, opened
from .conftest import played

pytestmark = [pytest.mark.real_agent, played("test_denying.play", COPILOT)]

RULES = (
    *("Bash(touch *)", "Bash(git push *)", "Bash(npm test)", "Edit(.env)", "Edit(sub/**)"),
    *("Read(secret.txt)", "WebFetch(domain:*.example.com)", "mcp__files__delete"),
)
"""Each form that can be expressed."""


DENIED = {
    "command": ("shell", "touch made"),
    "second of two": ("shell", "echo one && touch made"),
    "words": ("shell", "git push origin main; echo pushed"),
    "exact": ("shell", "npm test"),
    "file": ("create", f"{PROJECT}/.env", "x"),
    "folder": ("create", f"{PROJECT}/sub/a.txt", "x"),
    "read": ("read", f"{PROJECT}/secret.txt"),
}
OTHER = {
    "other command": ("shell", "echo other > other"),
    "other words": ("shell", "git status; echo looked > looked"),
    "other file": ("create", f"{PROJECT}/env", "x"),
}


def play(agent: Agent) -> Json:
    settings = {"COPILOT_KERNEL_PERMISSION_MODE": "bypassPermissions", "COPILOT_KERNEL_DENY": json.dumps(RULES)}
    with model.running() as scripted, opened(agent, scripted, **settings) as book:
        (book.project / "sub").mkdir()
        (book.project / "secret.txt").write_text("a secret")
        found = {name: _act(book, call) for name, call in {**DENIED, **OTHER}.items()}
        return {"acts": found, "files": sorted(path.name for path in book.project.rglob("*"))}


def _act(book: Notebook, call: tuple[str, ...]) -> Json:
    """Without buttons, for none is to be pressed."""
    seen = book.ask({"call": [call]}, {"say": "Over."})
    asked = "session/request_permission" in book.run("%log 1000")["text"]
    return {"asked": asked, "said": "was denied due to the following rules" in seen["text"], "text": seen["text"]}


# -- tests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", DENIED)
def test_what_is_denied_is_refused_by_the_agent_itself(seen: Json, act: str) -> None:
    came = seen["acts"][act]
    assert (came["asked"], came["said"]) == (False, True), came["text"]


@pytest.mark.parametrize("act", OTHER)
def test_what_is_not_denied_is_asked_about_as_ever(seen: Json, act: str) -> None:
    assert (seen["acts"][act]["asked"], seen["acts"][act]["said"]) == (True, False)


def test_nothing_that_was_denied_was_done(seen: Json) -> None:
    assert seen["files"] == ["chat.ipynb", "env", "looked", "notes.txt", "other", "secret.txt", "sub"]
