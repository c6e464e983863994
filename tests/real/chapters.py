"""All cells of one agent's notebook, one after the other: what a reader saw in each of them."""

from typing import Any

from . import cells, drawing, lasting, setting, tools
from .agents import Agent
from .book import Json, Notebook, opened
from .processes import running_here

CHAPTERS = (cells.CELLS, drawing.CELLS, setting.CELLS, lasting.CELLS)


def _findings(book: Notebook) -> dict[str, Any]:
    each = {name: cell for chapter in CHAPTERS for name, cell in chapter.items()}
    if "cancel-shell" not in book.agent.scenes:
        del each["cancel-shell"]
    return {"agent": book.agent.name, **{name: cell(book) for name, cell in each.items()}}


def play(agent: Agent) -> Json:
    with tools.serving("web") as url:
        with opened(agent, COPILOT_KERNEL_MCP_SERVERS=drawing.servers(url)) as book:
            findings = _findings(book)
            before = sorted(process.name for process in running_here())
            book.front_end.manager.shutdown_kernel()
            after = sorted(process.name for process in running_here())
        findings["programs"] = {"before": before, "after": after}
        findings["files left"] = drawing.handed()
    return findings
