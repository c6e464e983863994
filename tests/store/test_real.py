"""The real Copilot CLI, offline: what it keeps of a session, exported from its log and by the agent itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ..limits import LIMIT
from ..real import model
from ..real.agents import COPILOT, INSTALL, Agent
from ..real.conftest import isolated, lacking
from ..real.plays import Play
from ..rendering.allowed import text_of
from . import session

__all__ = ["isolated"]  # a fixture

PROGRAM = str(Path(sys.executable).with_name("copilot-kernel"))
RUNS = {
    "sessions": ["sessions", "--json", "--here"],
    "offline": ["sessions", "--json", "--offline"],
    "log": ["export", "last", "--from-log", "-o", "log.ipynb"],
    "replay": ["export", "last", "-o", "replay.ipynb"],
}

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


def play(agent: Agent) -> dict[str, Any]:
    """The session, then our program in the project's folder."""
    session.play(agent)
    home = Path(os.environ["HOME"])
    with model.running() as scripted:
        env = {**os.environ, **agent.settings(home, scripted.url)}
        return {name: _run(arguments, env, home / "project") for name, arguments in RUNS.items()}


def _run(arguments: list[str], env: dict[str, str], project: Path) -> dict[str, Any]:
    done = subprocess.run([PROGRAM, *arguments], cwd=project, env=env, capture_output=True, text=True, timeout=LIMIT)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def done(isolated: None, home: Path) -> dict[str, Any]:
    """How each of our commands ended."""
    if COPILOT.find() is None:
        lacking(f"copilot is not installed: {INSTALL}")
    return Play("store.test_real.play", COPILOT).perform(home, home / "cache")


@pytest.fixture
def cells(request: pytest.FixtureRequest, home: Path, done: dict[str, Any]) -> list[str]:
    """What a reader sees of each cell of an exported notebook."""
    outcome = done[request.param]
    assert (outcome["code"], outcome["err"]) == (0, "")
    notebook = nbformat.read((home / "project") / f"{request.param}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.copilot_kernel.source == request.param
    return ["\n".join([cell.source, *map(_seen, cell.outputs)]) for cell in notebook.cells]


def _seen(output: Any) -> str:
    """As plain text, and with what is folded in the HTML."""
    return f"{output.data['text/plain']}\n{text_of(output.data.get('text/html', ''))}"


both = pytest.mark.parametrize("cells", ["log", "replay"], indirect=True)


def test_the_session_is_found_on_disk_and_at_the_agent(done: dict[str, Any], home: Path) -> None:
    [listed], [stored] = (json.loads(done[name]["out"])["sessions"] for name in ("sessions", "offline"))
    assert (listed["sources"], stored["sources"]) == (["disk", "agent"], ["disk"])
    assert (listed["id"], listed["cwd"]) == (stored["id"], str(home / "project"))
    assert Path(stored["path"]).parent.name == stored["id"]


@both
def test_each_prompt_is_a_cell(cells: list[str]) -> None:
    assert len(cells) == 11
    assert all(cell.startswith("Please follow the script.") for cell in cells)


@both
def test_answers_commands_and_changes_are_in_their_cells(cells: list[str]) -> None:
    assert "\nThere are **three lines** of notes.\n" in cells[0]
    assert all(part in cells[1] for part in ("- two\n", "+ TWO\n", "\nChanged.\n"))
    assert "+ hello\n" in cells[2]
    assert all(part in cells[3] for part in ("exit 3", "$ echo counted; exit 3", "\n  counted\n"))
    assert all(part in cells[4] for part in ("- three", "+ THREE"))
    assert "denied" in cells[4] or "ejected" in cells[4]  # in Copilot's words, where it shows the session again
    assert "\nI am here again.\n" in cells[10]


@pytest.mark.parametrize("cells", ["log"], indirect=True)
def test_the_log_also_has_thoughts_and_decisions(cells: list[str]) -> None:
    assert "I look at the question first." in cells[0]
    assert "allowed by you" in cells[3]
    assert "denied by you" in cells[4]
    assert "■ Stopped" in cells[9]
