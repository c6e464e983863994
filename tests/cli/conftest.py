"""The command line in this process, in an empty folder, with no settings of the developer's."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest
from copilot_kernel import cli
from copilot_kernel.chat import open_chat
from copilot_kernel.config_reader import load_settings

from ..chat.people import ask
from ..trusting import trust_environment

PROGRAM = str(Path(sys.executable).with_name("copilot-kernel"))
OURS = ("COPILOT_KERNEL_DEMO_COMMAND", "COPILOT_DEMO_PACE")


Program = Callable[..., CompletedProcess[str]]


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


Surroundings = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def surroundings(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    """The folder and environment of a command; keywords are added to the latter."""

    @contextmanager
    def enter(**more: str) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name in {*os.environ} - {*environ, *more}:
                patch.delenv(name)
            for name, value in (environ | more).items():
                patch.setenv(name, value)
            time.tzset()
            yield
        time.tzset()

    return enter


@pytest.fixture
def program(surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Run `copilot-kernel` where there is no terminal; keywords are added to the environment."""

    def run(*arguments: str, stdin: str = "", **more: str) -> CompletedProcess[str]:
        with surroundings(**more), monkeypatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(stdin))
            capsys.readouterr()
            code = cli.main(arguments)
            out, err = capsys.readouterr()
        return CompletedProcess(arguments, code, out, err)

    return run


@pytest.fixture
def converse(surroundings: Surroundings) -> Callable[..., str]:
    """Have a turn with the agent; the id of its session."""

    async def one_turn(prompt: str) -> str:
        async with open_chat(load_settings()) as chat:
            return (await ask(chat, prompt)).session_id

    def run(prompt: str, **more: str) -> str:
        with surroundings(**more):
            return anyio.run(one_turn, prompt)

    return run
