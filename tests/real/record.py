"""Play scenes with real agents and keep what was said: `python -m tests.real.record [AGENT[/SCENE] ...]`.

The command starts itself again inside a namespace, once for each agent.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import model, namespace
from .agents import AGENTS, PEERS, Agent
from .driver import started
from .plays import SECONDS
from .recorder import Recorder
from .scenes import NOTES, SCENES, Stage

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"


async def play(agent: Agent, scene: str, home: Path, url: str) -> Recorder:
    """One scene with a fresh agent, project and home; a scene `signed-out` gets no model."""
    project = home / "project"
    project.mkdir(parents=True)
    (project / "notes.txt").write_text(NOTES)
    ready = {} if scene == "signed-out" else agent.configure(home, url)
    env = {**os.environ, "HOME": str(home), **ready}
    recorder = Recorder()
    async with asyncio.timeout(SECONDS):
        async with started(agent.command(), env, project, recorder, home / "errors.txt") as driver:
            await SCENES[scene](Stage(agent, driver, project))
    return recorder


def record(agent: Agent, scene: str, home: Path, url: str, out: Path) -> None:
    """Play the scene and write AGENT-SCENE.jsonl into the folder `out`."""
    recorder = asyncio.run(play(agent, scene, home, url))
    places = {str(home / "project"): "/project", str(home): "/home/user", str(PEERS.resolve()): "/usr/lib/node_modules"}
    path = out / f"{agent.name}-{scene}.jsonl"
    recorder.save(path, places)
    print(f"{path.name}: {len(recorder.records)} messages, {path.stat().st_size} bytes", flush=True)


def perform(
    agent: Agent, scenes: Sequence[str], home: Path, cache: Path, out: Path
) -> subprocess.CompletedProcess[str]:
    """Record the scenes in one namespace; the project of scene number N is left in HOME/N/project."""
    inside = [sys.executable, "-m", "tests.real.record", "--inside", str(out), agent.name, *scenes]
    return namespace.run(inside, namespace.environment(home, cache), seconds=SECONDS * len(scenes))


def _inside(out: str, name: str, *scenes: str) -> None:
    with model.running() as scripted:
        for number, scene in enumerate(scenes):
            record(AGENTS[name], scene, Path(os.environ["HOME"]) / str(number), scripted.url, Path(out))


def main(wishes: list[str]) -> int:
    """0 when everything wished for (AGENT or AGENT/SCENE; nothing means all that is installed) was recorded."""
    failed = 0
    for agent in AGENTS.values():
        chosen = [scene for scene in agent.scenes if not wishes or {agent.name, f"{agent.name}/{scene}"} & {*wishes}]
        if not chosen or (agent.find() is None and not wishes):
            continue
        with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as home:  # short: agents cut long paths in titles
            done = perform(agent, chosen, Path(home), Path(home) / "cache", TRANSCRIPTS)
        print(done.stdout, done.stderr, sep="", end="")
        failed += done.returncode != 0
    return failed


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        _inside(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
