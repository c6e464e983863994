"""Agents as child processes: what a folder's Git settings say is not run, and no session outlives this process."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from copilot_kernel.acp.child_processes import guarded, without_proxy_to_us
from copilot_kernel.host.command import TerminalCommand, environment
from copilot_kernel.system.posix_session import kill_at_eof

from ..limits import LIMIT

KEY, VALUE = "GIT_CONFIG_KEY_{}", "GIT_CONFIG_VALUE_{}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}),
        ({"no_proxy": "a"}, {"NO_PROXY": "a,127.0.0.1", "no_proxy": "a,127.0.0.1"}),
        ({"NO_PROXY": "a", "no_proxy": "b"}, {"NO_PROXY": "a,127.0.0.1", "no_proxy": "b,127.0.0.1"}),
        ({"NO_PROXY": "*"}, {"NO_PROXY": "*"}),
    ],
)
def test_no_proxy_stands_between_an_agent_and_us(before: dict[str, str], after: dict[str, str]) -> None:
    assert without_proxy_to_us(before) == after


@pytest.mark.parametrize("count", ["x", "-1", "1 ", "²"])
def test_a_count_that_git_refuses_is_left_alone(count: str) -> None:
    assert guarded({"GIT_CONFIG_COUNT": count}) == {"GIT_CONFIG_COUNT": count}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_folder_that_looks_like_a_repository_runs_nothing(tmp_path: Path) -> None:
    """Without the guard the same folder does, or the test would prove nothing."""
    assert not _runs(tmp_path / "guarded", guarded(_plain()))
    assert not _runs(tmp_path / "terminal", environment(TerminalCommand(("git",), str(tmp_path), environ=_plain())))
    assert _runs(tmp_path / "plain", _plain())


def _plain() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def _runs(folder: Path, environ: dict[str, str]) -> bool:
    for name in ("objects", "refs", "tree"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    lines = (
        "[core]",
        "bare = false",
        "worktree = tree",
        "repositoryformatversion = 0",
        "fsmonitor = touch ../ran; false",
    )
    (folder / "config").write_text("\n".join(lines) + "\n")
    subprocess.run(["git", "status"], cwd=folder, env=environ, capture_output=True, check=False, timeout=LIMIT)
    return any(path.name == "ran" for path in (*folder.parent.iterdir(), *folder.iterdir()))


def test_sessions_that_have_not_ended_at_the_end_of_the_lines_are_killed() -> None:
    left, ended = (subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(2))
    try:
        kill_at_eof([f"+{left.pid}\n", f"+{ended.pid}\n", f"-{ended.pid}\n"])
        assert left.wait(10) == -signal.SIGKILL
        assert ended.poll() is None
    finally:
        for process in (left, ended):
            process.kill()
            process.wait(10)
