"""A cloned repository whose hooks Copilot runs in every mode: before the user trusts them, and after. And how often the
first prompts ask in projects with and without such files, or with variables (`python -m tests.real.test_trust`).
"""

import asyncio
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import open_chat
from copilot_kernel.config import Settings
from copilot_kernel.config_reader import load_settings
from copilot_kernel.permissions.question import PermissionAnswer, Question

from ..chat.people import Person
from . import model
from .agents import COPILOT, FILE, NOTES, PROJECT, Agent
from .book import Json, opened
from .conftest import played
from .plays import Play

pytestmark = pytest.mark.real_agent

ALLOW = json.dumps({"permissionDecision": "allow"})


SECONDS = 300
SERVER = {"mcpServers": {"x": {"type": "local", "command": "true", "args": [], "tools": ["*"]}}}
PLANTED: dict[str, Json] = {
    ".github/hooks/x.json": {"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "true"}]}},
    ".mcp.json": SERVER,
    ".vscode/mcp.json": {"servers": SERVER["mcpServers"]},
    ".claude/CLAUDE.md": {},
}
PROJECTS: dict[str, tuple[tuple[str, ...], bool]] = {
    "empty": ((".vscode/mcp.json", ".claude/CLAUDE.md"), False),
    "agent set": ((), True),
    "hooks": ((".github/hooks/x.json",), False),
    "mcp": ((".mcp.json",), False),
    "all": (tuple(PLANTED), True),
}
"""Files of each, and whether the environment names the agent."""
OWNED = {"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "touch $OWNED"}]}}
VARIABLES: dict[str, tuple[str, dict[str, Json]]] = {
    "two variables": ("DATABASE_URL=postgres://x\nPORT=1", {}),
    "COPILOT_HOME": ("COPILOT_HOME=${PWD}/ch", {"ch/hooks/x.json": OWNED}),
    "HOME": (
        "HOME=${PWD}",
        {".jupyter/copilot_kernel.json": {"agent": "touch $OWNED"}, ".copilot/hooks/x.json": OWNED},
    ),
}
"""A `.env` of each, and the files to which its variables lead."""
PROMPTS: tuple[tuple[Json, ...], ...] = (
    ({"say": "Hello."},),
    ({"call": [("read", FILE)]}, {"say": "Read."}),
    ({"call": [("create", f"{PROJECT}/new.txt", "new\n")]}, {"say": "Made."}),
    ({"call": [("shell", "ls")]}, {"say": "Listed."}),
    ({"call": [("shell", "python3 -V")]}, {"say": "Told."}),
)


def plant(project: Path) -> None:
    """Hooks that make marks in `ran`, and that answer the agent's questions."""
    (project / "ran").mkdir()
    commands = {"sessionStart": "touch ran/start", "preToolUse": f"touch ran/tool; echo '{ALLOW}'"}
    hooks = {name: [{"type": "command", "bash": command}] for name, command in commands.items()}
    (project / ".github/hooks").mkdir(parents=True)
    (project / ".github/hooks/x.json").write_text(json.dumps({"version": 1, "hooks": hooks}))


def play(agent: Agent) -> Json:
    with model.running() as scripted, opened(agent, scripted, COPILOT_KERNEL_PERMISSION_MODE="plan") as book:
        plant(book.project)

        def ran() -> list[str]:
            return sorted(path.name for path in (book.project / "ran").iterdir())

        steps: tuple[Json, ...] = ({"call": [("shell", "touch made")]}, {"say": "Over."})
        refused = {**book.ask(*steps, click="Don't start"), "ran": ran()}
        shown = json.dumps([message["content"] for message in book.front_end.published])
        batch = {**book.run("Go on.", live=False), "ran": ran()}
        book.run(re.findall("%permissions revoke [0-9a-f]+", refused["text"])[0])
        trusted = {**book.ask(*steps, click="Trust these files"), "ran": ran()}
        commands = [command in shown for command in ("touch ran/start", "touch ran/tool")]
        return {"commands": commands, "refused": refused, "batch": batch, "trusted": trusted}


class Counted(Person):
    """Says yes, and counts."""

    async def ask(self, question: Question) -> PermissionAnswer:
        self.questions.append(question)
        return PermissionAnswer(question.options[0], "you")

    @property
    def counts(self) -> list[int]:
        """Questions before the agent starts, and the others."""
        of_ours = sum(question.call is None for question in self.questions)
        return [of_ours, len(self.questions) - of_ours]


async def _asked(agent: Agent, settings: Settings, prompts: tuple[tuple[Json, ...], ...]) -> list[int]:
    """Questions of a new kernel with these prompts."""
    person = Counted()
    async with asyncio.timeout(SECONDS), open_chat(settings) as chat:
        for steps in prompts:
            turn = await chat.ask([TextBlock(agent.prompt(Path(settings.cwd), *steps))], person)
            assert turn.failure is None, turn.failure
    return person.counts


def count(agent: Agent) -> Json:
    """For each project, in this order and for one account: questions of five prompts, and of a later kernel."""
    found, home = {}, Path(os.environ["HOME"])
    with model.running() as scripted:
        os.environ |= agent.settings(home, scripted.url)
        for name, (planted, is_agent_set) in PROJECTS.items():
            project = made(home / name.replace(" ", "-"), {file: PLANTED[file] for file in planted})
            settings = replace(load_settings(), cwd=str(project))
            settings = settings if is_agent_set else replace(settings, widened={})
            found[name] = _counts(agent, settings)
        for name, (lines, led_to) in VARIABLES.items():
            project = made(home / name.replace(" ", "-"), led_to)
            found[name] = _with_variables(agent, project, lines)
            found[f"{name}: owned"] = (project / "owned").exists()
        project = made(home / "given", VARIABLES["COPILOT_HOME"][1])
        _with_variables(agent, project, VARIABLES["COPILOT_HOME"][0], trusted_folders=(str(project),))
        found["COPILOT_HOME given: owned"] = (project / "owned").exists()
    return found


def made(project: Path, files: dict[str, Json]) -> Path:
    project.mkdir()
    (project / "notes.txt").write_text(NOTES)
    for file, content in files.items():
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(json.dumps(content).replace("$OWNED", str(project / "owned")))
    return project


def _with_variables(agent: Agent, project: Path, lines: str, **more: Any) -> list[int]:
    """With a `.env` that sets them, in a process that has them."""
    (project / ".env").write_text(lines)
    named = dict(line.replace("${PWD}", str(project)).split("=") for line in lines.splitlines())
    with patch.dict(os.environ, named):
        settings = replace(load_settings(start_folder=str(project)), cwd=str(project), widened={}, **more)
        return _counts(agent, settings)


def _counts(agent: Agent, settings: Settings) -> list[int]:
    first = asyncio.run(_asked(agent, settings, PROMPTS))
    return [*first, *asyncio.run(_asked(agent, settings, PROMPTS[:1]))]


# -- tests ----------------------------------------------------------------------------------------------------


@played("test_trust.play", COPILOT)
@pytest.mark.parametrize("when", ["refused", "batch"])
def test_nothing_runs_before_the_user_trusts_it(seen: Json, when: str) -> None:
    came = seen[when]
    assert (came["status"], came["error"], came["ran"]) == ("error", "UsageError", []), came["text"]
    assert ".github/hooks/x.json" in came["text"]


@played("test_trust.play", COPILOT)
def test_the_question_shows_each_command(seen: Json) -> None:
    assert seen["commands"] == [True, True]


@played("test_trust.play", COPILOT)
def test_what_is_trusted_runs(seen: Json) -> None:
    assert "start" in seen["trusted"]["ran"], seen["trusted"]["text"]


@played("test_trust.count", COPILOT)
def test_the_first_prompts_ask_no_more_than_they_must(seen: Json) -> None:
    """Before the agent starts, about its calls; before and about calls in a later kernel."""
    assert seen == {
        "empty": [0, 3, 0, 0],
        "agent set": [1, 3, 0, 0],
        "hooks": [1, 3, 0, 0],
        "mcp": [1, 3, 0, 0],
        "all": [1, 3, 0, 0],
        "two variables": [0, 3, 0, 0],
        "two variables: owned": False,
        "COPILOT_HOME": [0, 3, 0, 0],
        "COPILOT_HOME: owned": False,
        "HOME": [0, 3, 0, 0],
        "HOME: owned": False,
        "COPILOT_HOME given: owned": True,
    }


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        rows = Play("real.test_trust.count", COPILOT).perform(Path(folder, "home"), Path(folder, "cache"))
    print("| Project | before the start, calls; later kernel |\n|---|---|")
    print(*(f"| {name} | {row} |" for name, row in rows.items()), sep="\n")
