"""All cells of one agent's notebook, one after the other: `perform` tells what a reader saw in each of them.

The inside half (`python -m tests.real.chapters AGENT`) prints its findings as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

from . import cells, drawing, lasting, namespace, setting, tools
from .agents import AGENTS, Agent
from .book import Json, Notebook, opened
from .processes import running_here

CHAPTERS = (cells.CELLS, drawing.CELLS, setting.CELLS, lasting.CELLS)


def perform(agent: Agent, home: Path, cache: Path) -> Json:
    """The findings by name; raises AssertionError with the inside's last words."""
    return told("tests.real.chapters", agent, home, cache)


def told(program: str, agent: Agent, home: Path, cache: Path, seconds: float = 170, *, own_proc: bool = False) -> Json:
    """What the program prints in its last line, run inside with the agent's name."""
    command = [sys.executable, "-m", program, agent.name]
    done = namespace.run(command, namespace.environment(home, cache), seconds=seconds, own_proc=own_proc)
    assert done.returncode == 0, done.stderr[-4000:]
    findings: Json = json.loads(done.stdout.splitlines()[-1])
    return findings


def _findings(book: Notebook) -> dict[str, Any]:
    each = {name: cell for chapter in CHAPTERS for name, cell in chapter.items()}
    if "cancel-shell" not in book.agent.scenes:
        del each["cancel-shell"]
    return {name: cell(book) for name, cell in each.items()}


def main() -> None:
    with tools.serving("web") as url:
        with opened(AGENTS[sys.argv[1]], COPILOT_KERNEL_MCP_SERVERS=drawing.servers(url)) as book:
            findings = _findings(book)
            before = sorted(process.name for process in running_here())
            book.front_end.manager.shutdown_kernel()
            after = sorted(process.name for process in running_here())
        findings["programs"] = {"before": before, "after": after}
        findings["files left"] = drawing.handed()
    print(json.dumps(findings))


if __name__ == "__main__":
    main()
