"""One agent for several notebooks: what it saves (GitHub Copilot CLI, offline).

`python -m benchmarks.sharing SHARING COUNT`, in a network of its own, prints sizes as JSON.
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
import psutil
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.chat import open_chat
from copilot_kernel.config import Settings

from tests.chat.people import Person
from tests.real import model, namespace
from tests.real.agents import COPILOT

from .report import Report

Sizes = dict[str, float]
COUNTS = (1, 3, 10)
MB = 1 << 20


def run(scale: float = 1.0) -> Report:
    """Ten notebooks take most of the time; a smaller `scale` leaves them out."""
    report = Report("sharing", "notebooks with an agent each, and on one agent")
    for count in COUNTS if scale >= 1 else COUNTS[:1]:
        for name, sharing in (("an agent each", "off"), ("one agent", "user")):
            sizes, words = _measure(sharing, count), f"{count} notebooks, {name}: "
            report.add(f"{words}RSS of agents", sizes["rss of agents"], "MB", 350 if sharing == "user" else None)
            report.add(f"{words}RSS, with what serves them", sizes["rss"], "MB")
            report.add(f"{words}PSS, with what serves them", sizes["pss"], "MB")
            report.add(f"{words}the last one's first prompt", sizes["last"], "s")
    return report


def _measure(sharing: str, count: int) -> Sizes:
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as cache:
        environ = namespace.environment(Path(home), Path(cache))
        command = [sys.executable, "-m", "benchmarks.sharing", sharing, str(count)]
        done = namespace.run(command, environ, seconds=240)
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


async def _fill(sharing: str, count: int) -> Sizes:
    """`count` conversations with a prompt each, in one folder."""
    home, others = Path(os.environ["HOME"]), set(psutil.pids())
    (home / "project").mkdir()
    with model.running() as scripted:
        os.environ |= COPILOT.configure(home, scripted.url)
        agent = " ".join(COPILOT.command())
        settings = Settings(agent, str(home / "project"), state=str(home / "kept"), agent_sharing=sharing)
        async with AsyncExitStack() as stack:
            for _ in range(count):
                began = time.perf_counter()
                chat = await stack.enter_async_context(open_chat(settings))
                turn = await chat.ask([TextBlock(model.prompt({"say": "Noted."}))], Person())
                assert turn.text == "Noted.", turn
                last = time.perf_counter() - began
            return {**_sizes(others), "last": last}


def _sizes(others: set[int]) -> Sizes:
    """Megabytes of all processes but the `others`, and of agents alone."""
    processes = [each for each in psutil.process_iter(["cmdline", "memory_full_info"]) if each.pid not in others]
    agents = [each.info["memory_full_info"].rss for each in processes if "--acp" in each.info["cmdline"]]
    sizes = [each.info["memory_full_info"] for each in processes if each.info["memory_full_info"]]
    rss, pss = sum(each.rss for each in sizes) / MB, sum(each.pss for each in sizes) / MB
    return {"rss of agents": sum(agents) / MB, "rss": rss, "pss": pss}


if __name__ == "__main__":
    print(json.dumps(anyio.run(_fill, sys.argv[1], int(sys.argv[2]))))
