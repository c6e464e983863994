"""The command line in this process, in an empty folder, with no settings of the developer's."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from copilot_kernel import cli

from ..trusting import trust_environment

PROGRAM = str(Path(sys.executable).with_name("copilot-kernel"))
OURS = ("COPILOT_KERNEL_DEMO_COMMAND", "COPILOT_DEMO_PACE")


@dataclass
class Done:
    """What one run of `copilot-kernel` came to."""

    returncode: int
    stdout: str
    stderr: str


Program = Callable[..., Done]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which all settings are defaults; the agent is the demo agent."""
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(("COPILOT_", "JUPYTER_"))}
    kept |= {name: os.environ[name] for name in OURS}
    config = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    demo = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": str(tmp_path / "demo-home")}
    home = {"HOME": str(tmp_path)}  # all of it is the user's own
    environ = kept | home | config | demo | {"NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC"}
    trust_environment(environ)
    return environ


@pytest.fixture
def program(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Program:
    """Run `copilot-kernel` where there is no terminal; keywords are added to the environment."""

    def run(*arguments: str, stdin: str = "", **more: str) -> Done:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name in {*os.environ} - {*environ, *more}:
                patch.delenv(name)
            for name, value in (environ | more).items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.StringIO(stdin))
            time.tzset()
            capsys.readouterr()
            code = cli.main(arguments)
            out, err = capsys.readouterr()
        time.tzset()
        return Done(code, out, err)

    return run
