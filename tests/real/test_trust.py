"""A cloned repository whose hooks Copilot runs in every mode: before the user trusts them, and after."""

import json
import re
from pathlib import Path

import pytest

from . import model
from .agents import COPILOT, Agent
from .book import Json, opened
from .conftest import played

pytestmark = [pytest.mark.real_agent, played("test_trust.play", COPILOT)]

ALLOW = json.dumps({"permissionDecision": "allow"})


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


# -- tests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["refused", "batch"])
def test_nothing_runs_before_the_user_trusts_it(seen: Json, when: str) -> None:
    came = seen[when]
    assert (came["status"], came["error"], came["ran"]) == ("error", "UsageError", []), came["text"]
    assert ".github/hooks/x.json" in came["text"]


def test_the_question_shows_each_command(seen: Json) -> None:
    assert seen["commands"] == [True, True]


def test_what_is_trusted_runs(seen: Json) -> None:
    assert "start" in seen["trusted"]["ran"], seen["trusted"]["text"]
