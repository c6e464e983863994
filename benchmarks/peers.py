"""The same answer in Jupyter AI's chat: jupyter-ai-acp-client writes it, jupyterlab_chat sends it to the page.

An environment of its own has what `peers.txt` lists; COPILOT_BENCH_PEERS is its Python. Without it nothing is compared.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.agent.command import COMMAND

from .kernels import TAP
from .tap import chunk_times

VARIABLE = "COPILOT_BENCH_PEERS"
MODES = {"websocket": "Jupyter AI", "collaboration": "Jupyter AI, collaborative"}
LIMIT = 120.0
OVERHEAD = 240.0
"""Seconds for the start and the end of a server, at most."""


@dataclass(frozen=True)
class Answer:
    """What the page had in the end: all of the text, or what came in LIMIT seconds."""

    text: str
    bytes: int
    """Of the frames that the page received."""
    messages: int
    at: float
    """When the last frame came (system-wide monotonic clock)."""
    silence: float
    """The longest time between two frames."""
    seconds: float
    """CPU time of the server, the page excluded."""
    written: int
    """Bytes that the server wrote to files."""
    file: int
    """Bytes of the saved chat."""
    chunks: list[float]
    """When the agent sent each."""


def answers(prompt: str, size: int) -> dict[str, Answer]:
    """By name, for each way in which Jupyter AI's chat reaches a page."""
    if python := os.environ.get(VARIABLE):
        return {name: _answer(python, mode, prompt, size) for mode, name in MODES.items()}
    return {}


def _answer(python: str, mode: str, prompt: str, size: int) -> Answer:
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "tap.jsonl"
        agent = shlex.join([sys.executable, TAP, str(log), *COMMAND])
        script = str(Path(__file__).with_name("peer_chat.py"))
        done = subprocess.run(
            [python, script, mode, prompt, str(size), str(LIMIT)],
            cwd=folder,
            env={**os.environ, "COPILOT_KERNEL_AGENT": agent},
            stdout=subprocess.PIPE,
            timeout=LIMIT + OVERHEAD,
            check=True,
        )
        _, *chunks = chunk_times(log)
        return Answer(**json.loads(done.stdout), chunks=chunks)
