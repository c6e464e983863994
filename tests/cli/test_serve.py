"""What `serve` takes that is not its own: the settings of `jupyter copilot`. The server is tested in its own room."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from copilot_kernel import cli
from copilot_kernel.cli.serve import ONLY_AT_START
from copilot_kernel.server.app import CopilotApp

from ..limits import LIMIT
from .conftest import PROGRAM

SETTINGS = ("--CopilotApp.rate_limit=0", "--CopilotApp.allow=Bash(git *)", "--debug")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the server was launched with, had it been."""
    seen: list[list[str]] = []
    monkeypatch.setattr(CopilotApp, "launch_instance", seen.append)
    return seen


@pytest.mark.parametrize("typed", [
    SETTINGS,
    ("--port=18080", *SETTINGS),
    ("--CopilotApp.rate_limit=0", "--port", "18080", "--CopilotApp.allow=Bash(git *)", "--debug"),
])  # fmt: skip
def test_settings_are_the_servers(
    launched: list[list[str]], typed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copilot_kernel.cli.serve._require_free", lambda port: None)
    assert cli.main(["serve", *typed]) == 0
    port = ["--port=18080"] if "18080" in str(typed) else []
    assert launched == [["--ServerApp.allow_root=True", *port, *SETTINGS]]
    app = CopilotApp()
    app.parse_command_line(launched[0])
    assert (app.rate_limit, app.allow) == (0, ["Bash(git *)"])


def test_a_server_that_does_not_start_says_why(environ: dict[str, str], tmp_path: Path) -> None:
    command = [PROGRAM, "serve", "start", "--CopilotApp.port=0", "--CopilotApp.rate_limit=much"]
    places = {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    done = subprocess.run(command, env=environ | places, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("copilot-kernel: The server did not start.\nLast lines of ")
    assert "The 'rate_limit' trait of a CopilotApp instance expected an int" in done.stderr


def test_while_a_server_starts_no_other_one_is_asked(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    here, started = os.getpid(), os.getppid()
    asked, polled = list[int](), list[int]()

    def write(pid: int) -> None:
        (tmp_path / f"jpserver-{pid}.json").write_text(f'{{"pid": {pid}, "port": {pid}, "url": "http://x/"}}')

    def status(info: dict[str, Any]) -> dict[str, Any]:
        asked.append(info["pid"])
        counts = dict.fromkeys(("sessions", "agents", "turns"), 0)
        return {"alone": info["pid"] == started, "state": "running", "models": [], **counts}

    def poll() -> None:
        polled.append(len(asked))
        if len(polled) == 3:
            write(started)

    write(here)
    monkeypatch.setattr("copilot_kernel.cli.serve._request_status", status)
    monkeypatch.setattr("copilot_kernel.cli.serve._launch", lambda *_: SimpleNamespace(poll=poll))
    assert cli.main(["serve", "start"]) == 0
    assert (asked, polled) == ([here, started], [1, 1, 1])


@pytest.mark.parametrize("typed", [("serve", "stop"), ("serve", "status"), ("doctor",)])
def test_nothing_else_takes_them(capsys: pytest.CaptureFixture[str], typed: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main([*typed, "--CopilotApp.rate_limit=0"])
    assert end.value.code == 2
    assert "unrecognized arguments: --CopilotApp.rate_limit=0" in capsys.readouterr().err


def test_settings_for_a_server_that_runs_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = {"alone": True, "port": 8080, "url": "http://127.0.0.1:8080/", "state": "running", "models": []}
    running |= dict.fromkeys(("sessions", "agents", "turns"), 0)

    monkeypatch.setattr("copilot_kernel.cli.serve._servers", lambda infos: [running])
    assert cli.main(["serve", "start"]) == 0
    assert cli.main(["serve", "start", "--CopilotApp.rate_limit=0", "--IdentityProvider.token=secret"]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("Already running: ")
    assert "A server is already running: running standalone" in printed.err
    assert ONLY_AT_START in printed.err
    assert "secret" not in printed.err


@pytest.mark.parametrize("command", ["serve status --json", "doctor --no-start"])
def test_a_reader_that_leaves_sees_no_traceback(environ: dict[str, str], tmp_path: Path, command: str) -> None:
    """As with `| head -1`, also at the end of the process, when what is left is written."""
    reader, writer = os.pipe()
    os.close(reader)
    places = {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    done = subprocess.run(
        [PROGRAM, *command.split()], env=environ | places, stdout=writer, stderr=subprocess.PIPE, timeout=LIMIT
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
