"""A pipe fitting: runs an agent and notes when each line passed, for measuring what the kernel adds.

`python tap.py LOG COMMAND…` forwards both ways and appends `{"at": s, "from": "agent" | "client", "line": …}` to LOG.
Times are of the system-wide monotonic clock: before a line goes on to the client, and after one came from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO


def forward(source: IO[bytes], target: IO[bytes], name: str, log: IO[str]) -> None:
    """Line by line until the end; long lines are noted by their beginning only."""
    for line in iter(source.readline, b""):
        note = json.dumps({"at": time.monotonic(), "from": name, "line": line[:400].decode("utf-8", "replace")})
        target.write(line)
        target.flush()
        log.write(note + "\n")
    target.close()


def chunk_times(log: Path) -> list[float]:
    """When the agent sent each piece of text, for all prompts so far."""
    notes = map(json.loads, log.read_text().splitlines())
    return [float(note["at"]) for note in notes if "agent_message_chunk" in note["line"] and note["from"] == "agent"]


def main() -> int:
    """Ends with the agent, and with its exit code."""
    log = open(sys.argv[1], "a", buffering=1)  # noqa: SIM115 (open for as long as the process lives)
    agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    assert agent.stdout is not None
    ways = ((sys.stdin.buffer, agent.stdin, "client"), (agent.stdout, sys.stdout.buffer, "agent"))
    for source, target, name in ways:
        threading.Thread(target=forward, args=(source, target, name, log), daemon=True).start()
    return agent.wait()


if __name__ == "__main__":
    sys.exit(main())
