"""What is played with real agents, by name: `perform` plays one in a namespace and returns its findings.

Each is a function `play(agent)` of a module here. The inside half, `python -m tests.real.plays NAME AGENT`, prints what
it returns as JSON.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from . import namespace
from .agents import AGENTS, Agent

Json = dict[str, Any]
SECONDS = 600.0
"""For all of one: only a hang takes so long."""
MODULES = {
    "findings": "chapters",
    "listening_agent": "test_listening",
    "shared_agent": "test_sharing",
    "api": "test_api",
    "magic_cells": "test_magic",
    "socket_frames": "test_talking",
    "confined_turns": "test_confined",
    "initialized": "test_early",
    "denied": "test_denying",
}


def perform(name: str, agent: Agent, home: Path, cache: Path) -> Json:
    """The findings; raises AssertionError with the end of what was on stderr."""
    command = [sys.executable, "-m", "tests.real.plays", name, agent.name]
    environment = namespace.environment(home, cache)
    done = namespace.run(command, environment, seconds=SECONDS, own_proc=name == "confined_turns")
    assert done.returncode == 0, done.stderr[-4000:]
    findings: Json = json.loads(done.stdout.splitlines()[-1])
    return findings


if __name__ == "__main__":
    print(json.dumps(import_module(f"tests.real.{MODULES[sys.argv[1]]}").play(AGENTS[sys.argv[2]])))
