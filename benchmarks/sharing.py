"""One agent for several notebooks: what it saves (GitHub Copilot CLI, offline), and what the broker costs under load.

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
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.chat import Chat
from copilot_kernel.config import Settings

from tests.agentd.brokers import brokers, end_brokers
from tests.agentd.wires import Wire, joined, prompt
from tests.chat.people import Person
from tests.real import model, namespace
from tests.real.agents import COPILOT

from .report import Report, percentile
from .trial import AGENT

Sizes = dict[str, float]
COUNTS = (1, 3, 10)
KERNELS, RATE, SECONDS, LARGE = 50, 2_000, 60.0, 65_536
MB = 1 << 20


def run(scale: float = 1.0) -> Report:
    """Ten notebooks take most of the time; a smaller `scale` leaves them out."""
    report = Report("sharing", "notebooks with an agent each, and on one agent; then the broker under load")
    for count in COUNTS if scale >= 1 else COUNTS[:1]:
        for name, sharing in (("an agent each", "off"), ("one agent", "user")):
            sizes, words = _measure(sharing, count), f"{count} notebooks, {name}: "
            bounds = (1, 350) if sharing == "user" else (None, None)
            report.add(f"{words}agent processes", sizes["agents"], "", bounds[0])
            report.add(f"{words}RSS of agents", sizes["rss of agents"], "MB", bounds[1])
            report.add(f"{words}RSS, with what serves them", sizes["rss"], "MB")
            report.add(f"{words}PSS, with what serves them", sizes["pss"], "MB")
            report.add(f"{words}the last one's first prompt", sizes["last"], "s")
    with tempfile.TemporaryDirectory(prefix="ck-") as folder:
        anyio.run(add_load, report, Path(folder), KERNELS, RATE, SECONDS * scale)
    return report


def _measure(sharing: str, count: int) -> Sizes:
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as cache:
        environ = namespace.environment(Path(home), Path(cache))
        command = [sys.executable, "-m", "benchmarks.sharing", sharing, str(count)]
        done = namespace.run(command, environ, seconds=240, own_proc=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    sizes: Sizes = json.loads(done.stdout.splitlines()[-1])
    return sizes


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
                chat = await stack.enter_async_context(Chat(settings))
                turn = await chat.ask([TextBlock(model.prompt({"say": "Noted."}))], Person())
                assert turn.text == "Noted.", turn
                last = time.perf_counter() - began
            return {**_sizes(others), "last": last}


def _sizes(others: set[int]) -> Sizes:
    """Megabytes of all processes but the `others`, and how many agents are among them."""
    processes = [each for each in psutil.process_iter(["cmdline", "memory_full_info"]) if each.pid not in others]
    agents = [each.info["memory_full_info"].rss for each in processes if "--acp" in each.info["cmdline"]]
    sizes = [each.info["memory_full_info"] for each in processes if each.info["memory_full_info"]]
    rss, pss = sum(each.rss for each in sizes) / MB, sum(each.pss for each in sizes) / MB
    return {"agents": len(agents), "rss of agents": sum(agents) / MB, "rss": rss, "pss": pss}


# -- under load -------------------------------------------------------------------------------------------------------


async def add_load(report: Report, folder: Path, kernels: int, rate: float, seconds: float) -> None:
    """All kernels get updates at once, and the first one does not read. The bounds on time are for a busy machine."""
    command = (sys.executable, "-I", "-S", str(AGENT), str(folder))
    environ = {**os.environ, "JUPYTER_RUNTIME_DIR": str(folder)}
    spec = AgentSpec(Settings(cwd="/"), Launch(command, label="agent"), (), frozenset(), environ)
    late: list[list[float]] = []

    async def read(wire: Wire) -> None:
        times = list[float]()
        while (message := await wire.receive()).get("id") != 3:
            if message.get("method") == "session/update":
                due = float(message["params"]["update"]["content"]["text"].split()[0])
                times.append(time.monotonic() - due)
        late.append(times)

    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(joined(spec, folder)) for _ in range(kernels)]
        sessions = [await each.opened() for each in wires]
        for wire, session in zip(wires, sessions, strict=True):
            script = f"flood {rate / kernels} {seconds} {LARGE if wire is wires[0] else 1}"
            await wire.send(3, "session/prompt", sessionId=session, prompt=prompt(script))
        async with anyio.create_task_group() as tasks:
            for wire in wires[1:]:
                tasks.start_soon(read, wire)
        status = Path(f"/proc/{brokers(folder)[0].pid}/status").read_text()
        end_brokers(folder)
    memory = next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    words = f"{kernels} kernels, one of which does not read, {rate:,.0f} updates a second"
    lost = sum(int(rate / kernels * seconds) - len(each) for each in late)
    report.add(f"{words}: updates of the others that did not arrive", lost, "", 0)
    report.add("… late, p95", percentile([each for one in late for each in one], 0.95) * 1000, "ms", 500)
    report.add("… late, p95 of the slowest kernel", max(percentile(one, 0.95) for one in late) * 1000, "ms", 500)
    report.add("… the latest of all", max(map(max, late)) * 1000, "ms", 5_000)
    report.add("… memory of the broker, peak", memory, "MB", 200)


if __name__ == "__main__":
    print(json.dumps(anyio.run(_fill, sys.argv[1], int(sys.argv[2]))))
