"""A notebook whose agent gets two MCP servers from the settings, one that it starts and one over HTTP."""

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..jupyter.front_end import FrontEnd, Outcome, kernel_process
from . import model, namespace, tools
from .agents import AGENTS, Agent
from .cells import ARGV, TURN_LIMIT
from .model import Model, prompt

Json = dict[str, Any]
KINDS = ("pipe", "web")
UNASKING = frozenset({"opencode"})
"""They run the tools of MCP servers without a question."""


def perform(agent: Agent, home: Path, cache: Path, seconds: float = 150) -> Json:
    """What was seen of each server's tool, and of `%mcp`; raises AssertionError with the inside's last words."""
    inside = [sys.executable, "-m", "tests.real.drawing", agent.name]
    done = namespace.run(inside, namespace.environment(home, cache), seconds=seconds)
    assert done.returncode == 0, done.stderr[-4000:]
    findings: Json = json.loads(done.stdout.splitlines()[-1])
    return findings


def _settings(url: str) -> str:
    program = {"command": sys.executable, "args": [tools.__file__, "pipe"], "env": {"GREETING": "hello"}}
    return json.dumps({"pipe": program, "web": {"type": "http", "url": url}})


def _tool(scripted: Model, kind: str) -> str:
    """What the agent calls the tool, as it told the model."""
    offered = json.dumps([body.get("tools") for _, body in scripted.requests])
    names = {word for word in offered.replace('"', " ").split() if word.endswith(f"draw_{kind}")}
    return min(names, key=len, default=f"(no tool of {kind})")


def _draw(front_end: FrontEnd, tool: str, agent: Agent) -> Outcome:
    since = len(front_end.published)
    cell = front_end.execute(prompt({"call": [(tool, {})]}, {"say": "Drawn."}))
    if agent.name not in UNASKING:
        front_end.click(front_end.button(agent.allow, since))
    return front_end.finish(cell, TURN_LIMIT)


def _handed() -> list[str]:
    """The files in which servers are handed over, and who may read them."""
    found = Path(tempfile.gettempdir()).glob("copilot-kernel-mcp-*")
    return [oct(path.stat().st_mode & 0o777) for path in found]


def _seen(outcome: Outcome) -> Json:
    html = "".join(message["content"].get("data", {}).get("text/html", "") for message in outcome.outputs)
    return {"status": outcome.status, "text": outcome.text, "drawn": f"base64,{tools.RED_DOT}" in html}


def main() -> None:
    agent, home = AGENTS[sys.argv[1]], Path(os.environ["HOME"])
    (home / "work").mkdir()
    with model.running() as scripted, tools.serving("web") as url:
        settings = {
            **agent.configure(home, scripted.url),
            "COPILOT_KERNEL_AGENT": shlex.join(agent.command()),
            "COPILOT_KERNEL_MCP_SERVERS": _settings(url),
        }
        with kernel_process(home, settings, ARGV) as front_end:
            findings: Json = {"first": _seen(front_end.run(prompt({"say": "Ready."}), TURN_LIMIT))}
            findings |= {kind: _seen(_draw(front_end, _tool(scripted, kind), agent)) for kind in KINDS}
            findings["%mcp"] = _seen(front_end.run("%mcp"))
            findings["files"] = _handed()
            front_end.manager.shutdown_kernel()
        findings["files left"] = _handed()
    print(json.dumps(findings))


if __name__ == "__main__":
    main()
