"""What is played with a real agent, by name: `perform` plays one in a namespace and returns its findings.

Each is a function `MODULE.FUNCTION(agent, *words)` of this folder, or of a module beside it. The inside half,
`python -m tests.real.plays NAME AGENT [WORD ...]`, prints what it returns as JSON.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from ..jupyter.front_end import until
from ..limits import LIMIT
from . import namespace
from .agents import AGENTS, Agent

Json = dict[str, Any]
SECONDS = 600.0
"""For all of one, or for each of its words: only a hang takes so long."""


@dataclass(frozen=True, slots=True)
class Play:
    name: str
    agent: Agent
    words: tuple[str, ...] = ()

    def perform(self, home: Path, cache: Path) -> Json:
        """The findings; raises AssertionError with the end of what was on stderr."""
        command = [sys.executable, "-m", "tests.real.plays", self.name, self.agent.name, *self.words]
        done = namespace.run(command, namespace.environment(home, cache), SECONDS * max(1, len(self.words)))
        assert done.returncode == 0, done.stderr[-4000:]
        findings: Json = json.loads(done.stdout.splitlines()[-1])
        return findings


@contextmanager
def serving(command: list[str], port: int, env: Mapping[str, str]) -> Iterator[None]:
    """The program listens on the port until the block ends, by `kill -9`."""
    home = Path(os.environ["HOME"])
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(command, env={**os.environ, **env}, cwd=home, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=log, start_new_session=True)  # fmt: skip
    try:
        until(lambda: _listens(port), "it listens", LIMIT)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(LIMIT)


def _listens(port: int) -> bool:
    ours = (each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN)
    return any(each.laddr.port == port for each in ours)


def main(name: str, agent: str, *words: str) -> None:
    module, _, function = name.rpartition(".")
    print(json.dumps(getattr(import_module(f"tests.{module}"), function)(AGENTS[agent], *words)))


if __name__ == "__main__":
    main(*sys.argv[1:])
