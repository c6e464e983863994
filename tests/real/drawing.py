"""Cells in which the agent uses two MCP servers of the settings: one that it starts (`pipe`), one over HTTP (`web`)."""

import json
import sys
import tempfile
from pathlib import Path

from . import tools
from .book import Cell, Json, Notebook

KINDS = ("pipe", "web")
UNASKING = frozenset({"opencode"})
"""They run the tools of MCP servers without a question."""


def servers(url: str) -> str:
    """The setting; `url` is where the second one listens."""
    program = {"command": sys.executable, "args": [tools.__file__, "pipe"], "env": {"GREETING": "hello"}}
    return json.dumps({"pipe": program, "web": {"type": "http", "url": url}})


def handed() -> list[str]:
    """The files in which servers are handed over, and who may read them."""
    found = Path(tempfile.gettempdir()).glob("copilot-kernel-mcp-*")
    return [oct(path.stat().st_mode & 0o777) for path in found]


def _draw(book: Notebook, kind: str) -> Json:
    click = "" if book.agent.name in UNASKING else book.agent.allow
    seen = book.ask({"call": [(_tool(book, kind), {})]}, {"say": "Drawn."}, click=click)
    return {**seen, "drawn": f"base64,{tools.RED_DOT}" in seen["html"]}


def _tool(book: Notebook, kind: str) -> str:
    """What the agent calls the tool, as it told the model."""
    offered = json.dumps([body.get("tools") for _, body in book.scripted.requests])
    names = {word for word in offered.replace('"', " ").split() if word.endswith(f"draw_{kind}")}
    return min(names, key=len, default=f"(no tool of {kind})")


CELLS: dict[str, Cell] = {
    "pipe": lambda book: _draw(book, "pipe"),
    "web": lambda book: _draw(book, "web"),
    "%mcp": lambda book: {**book.run("%mcp"), "files": handed()},
}
