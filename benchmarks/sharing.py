"""One agent for several notebooks: what it saves (GitHub Copilot CLI, offline), and what the broker costs.

The inside half (`python -m benchmarks.sharing SHARING COUNT`), in a network of its own, prints sizes as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import Chat
from copilot_kernel.config import Settings

from tests.chat.people import Person
from tests.real import model, namespace
from tests.real.agents import COPILOT

from . import sharing_load
from .report import Report

Sizes = dict[str, float]
COUNTS = (1, 3, 10)
SECONDS = 240


def _of_processes(ours: set[int]) -> Sizes:
    """Megabytes of all processes but `ours`, and how many agents are among them."""
    rss = pss = agents = agent_rss = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) in ours:
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            sizes = dict(line.split(":", 1) for line in (process / "smaps_rollup").read_text().splitlines()[1:])
        except OSError:
            continue
        size = int(sizes["Rss"].split()[0]) / 1024
        rss, pss = rss + size, pss + int(sizes["Pss"].split()[0]) / 1024
        if b"--acp" in words:
            agents, agent_rss = agents + 1, agent_rss + size
    return {"agents": agents, "rss of agents": agent_rss, "rss": rss, "pss": pss}


async def _fill(sharing: str, count: int) -> Sizes:
    """`count` conversations with a prompt each, in one folder."""
    home = Path(os.environ["HOME"])
    (home / "project").mkdir()
    others = {int(each.name) for each in Path("/proc").glob("[0-9]*")}
    with model.running() as scripted:
        os.environ |= COPILOT.configure(home, scripted.url)
        agent = " ".join(COPILOT.command())
        settings = Settings(agent, str(home / "project"), state=str(home / "kept"), agent_sharing=sharing)
        async with AsyncExitStack() as stack:
            for _ in range(count):
                began = time.perf_counter()
                chat = await stack.enter_async_context(Chat(settings))
                turn = await chat.ask([TextBlock(model.prompt({"say": "Noted."}))], Person())
                assert turn.text == "Noted.", turn
                last = time.perf_counter() - began
            return {**_of_processes(others), "last": last}


def _measure(sharing: str, count: int) -> Sizes:
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as cache:
        environ = namespace.environment(Path(home), Path(cache))
        command = [sys.executable, "-m", "benchmarks.sharing", sharing, str(count)]
        done = namespace.run(command, environ, seconds=SECONDS, own_proc=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    sizes: Sizes = json.loads(done.stdout.splitlines()[-1])
    return sizes


def run(scale: float = 1.0) -> Report:
    """Ten notebooks take most of the time; a smaller `scale` leaves them out."""
    report = Report("sharing", "notebooks with an agent each, and on one agent; then the broker under load")
    for count in COUNTS if scale >= 1 else COUNTS[:2]:
        own, shared = (_measure(sharing, count) for sharing in ("off", "user"))
        for name, sizes in (("each", own), ("one", shared)):
            words = f"{count} notebooks, {name}: "
            report.add(f"{words}agent processes", sizes["agents"], "", bound=1 if name == "one" else None)
            report.add(f"{words}RSS of agents", sizes["rss of agents"], "MB", bound=350 if name == "one" else None)
            report.add(f"{words}RSS, with what serves them", sizes["rss"], "MB")
            report.add(f"{words}PSS, with what serves them", sizes["pss"], "MB")
            report.add(f"{words}the last one's first prompt", sizes["last"], "s")
    sharing_load.measure(report, scale)
    return report


if __name__ == "__main__":
    print(json.dumps(anyio.run(_fill, sys.argv[1], int(sys.argv[2]))))
