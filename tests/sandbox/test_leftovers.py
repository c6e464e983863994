"""What a killed kernel has left behind is dealt with before the next sandbox takes it for the user's."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from copilot_kernel.agentd import client
from copilot_kernel.config import Settings
from copilot_kernel.sandbox import Finding, Kind, Sandbox, leftovers, raise_sandbox

from ..agentd.brokers import until
from ..agentd.conftest import runtime
from ..chat.people import Person, ask
from ..limits import LIMIT

__all__ = ["runtime"]
pytestmark = pytest.mark.sandbox

KILLED_KERNEL = """
import os, signal, subprocess, sys, tempfile
from pathlib import Path
from copilot_kernel.config import Settings
from copilot_kernel.sandbox import raise_sandbox

project, state = sys.argv[1:]
handover = Path(tempfile.mkdtemp(prefix="copilot-kernel-"))
settings = Settings(cwd=project, state=state, sandbox="required")
sandbox = raise_sandbox(settings, [("/bin/sh",)], handover)
script = "mkdir new; cp -r sub/.git new/.git; echo > new/.git/hooks/x; echo ../evil > .git/commondir; echo > CLAUDE.md"
command = sandbox.command(("/bin/sh", "-c", script), project)
subprocess.run(command, env=sandbox.environment(), check=True)
print(handover, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def raised(bubblewrap, project, tmp_path):
    """Starts a sandbox; they are closed at the end."""
    sandboxes: list[Sandbox] = []

    def start() -> Sandbox:
        folder = tmp_path / f"handover{len(sandboxes)}"
        folder.mkdir()
        settings = Settings(cwd=str(project), state=str(tmp_path / "state"), sandbox="required")
        sandboxes.append(raise_sandbox(settings, [("/bin/sh",)], folder))
        return sandboxes[-1]

    yield start
    for sandbox in sandboxes:
        sandbox.close()


def records(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "state/sandbox/running").glob("*.json")]


def killed_kernel(project: Path, tmp_path: Path) -> Path:
    """The folder that it has handed over."""
    words = [sys.executable, "-c", KILLED_KERNEL, str(project), str(tmp_path / "state")]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    assert done.returncode == -signal.SIGKILL
    return Path(done.stdout.strip())


def test_what_a_killed_kernel_has_left_is_renamed_and_reported_and_nothing_is_lost(raised, project, tmp_path):
    for name in ("objects", "refs"):
        (project / "sub/.git" / name).mkdir(parents=True)
    (project / "sub/.git/HEAD").touch()
    handover = killed_kernel(project, tmp_path)
    (project / "GEMINI.md").touch()  # by the user
    assert handover.exists()
    sandbox = raised()
    found = sandbox.sweep.findings()
    asides = [path for path in project.rglob("removed-*") if path.parent.name == ".git"]
    places = {project / ".git": ".git/commondir", project / "new/.git": "new/.git/hooks"}
    moved = {f"{places[path.parent]} to {path.relative_to(project)}" for path in asides}
    assert found[0] == Finding(leftovers.KERNEL, Kind.KILLED)
    assert {finding.name for finding in found if finding.kind is Kind.SET_ASIDE} == moved
    assert {finding.name for finding in found if finding.kind is Kind.CREATED} == {"CLAUDE.md", "GEMINI.md"}
    assert (len(moved), (project / ".git/commondir").exists(), (project / "new/.git/hooks/x").exists()) == (
        2,
        False,
        False,
    )
    assert {path.name for folder in asides if folder.is_dir() for path in folder.iterdir()} == {"x"}
    assert not handover.exists()
    assert len(records(tmp_path)) == 1
    assert raised().sweep.findings() == []


def test_a_sandbox_that_still_runs_is_left_alone(raised, project, tmp_path):
    first = raised()
    (project / ".git/commondir").write_text("../evil")
    second = raised()
    assert (first.handover.exists(), len(records(tmp_path))) == (True, 2)
    assert second.sweep.findings() == []  # it takes what it finds for the user's
    assert [finding.kind for finding in first.sweep.findings()] == [Kind.REMOVED]


def test_what_is_left_of_another_project_or_was_cut_short_changes_nothing_here(raised, project, tmp_path):
    (tmp_path / "other/.git").mkdir(parents=True)
    killed_kernel(tmp_path / "other", tmp_path)
    (tmp_path / "state/sandbox/running/short.json").write_text('{"project": ')
    assert raised().sweep.findings() == []
    assert (tmp_path / "other/.git/commondir").exists()
    assert len(records(tmp_path)) == 2


async def test_a_kernel_that_ends_leaves_no_record(bubblewrap, open_chat, project, tmp_path):
    async with open_chat() as chat:
        await ask(chat, "demo: terminal echo x > made")
        assert len(records(tmp_path)) == 1
    assert records(tmp_path) == []


def holder(record: Path) -> psutil.Process:
    """The other process that keeps a record locked."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and str(record) in {file.path for file in process.open_files()}:
                return process
    raise LookupError(record)


async def test_what_a_killed_broker_has_left_is_dealt_with_before_the_next_one_starts(
    bubblewrap, open_chat, project, tmp_path, runtime, monkeypatch
):
    monkeypatch.setattr(client, "IDLE_SECONDS", 1.0)
    async with open_chat(agent_sharing="user") as chat:
        await ask(chat, "demo: say hello")
        (record,) = (tmp_path / "state/sandbox/running").glob("*.json")
        planted = project / "sub/.git/commondir"  # as if the agent had done it, where nobody watches
        planted.parent.mkdir()
        planted.write_text("../evil")
        holder(record).kill()
        await until(lambda: chat.agent.link is None)
        await ask(chat, "demo: say hello", person := Person())
        assert not planted.exists()
        assert [line for line in person.notices if line.startswith(leftovers.KERNEL)]
        assert len(records(tmp_path)) == 1
    await until(lambda: records(tmp_path) == [])
