"""The command line as a program of its own, in an empty folder, with no settings of the developer's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("copilot-kernel"))

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a program whose settings are all defaults; the agent is the demo agent."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COPILOT_", "JUPYTER_"))}
    config = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    demo = {"COPILOT_KERNEL_AGENT": "demo", "COPILOT_KERNEL_DEMO_HOME": str(tmp_path / "demo-home")}
    return kept | config | demo | {"NO_COLOR": "1"}


@pytest.fixture
def program(tmp_path: Path, environ: dict[str, str]) -> Program:
    """Run `copilot-kernel` where nobody sits at a terminal; keywords are added to the environment."""

    def run(*arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments],
            cwd=tmp_path,
            env=environ | more,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
        )

    return run
