"""Runs an agent and notes when each line passed, for measuring what the kernel adds.

`python tap.py LOG COMMAND…` forwards both ways and appends `{"at": s, "from": "agent" | "client", "line": …}` to LOG.
Times are of the system-wide monotonic clock: before a line goes on to the client, and after one came from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import IO


def forward(source: IO[bytes], target: IO[bytes], name: str, log: IO[str]) -> None:
    """Line by line until the end; long lines are noted by their beginning only."""
    for line in iter(source.readline, b""):
        note = json.dumps({"at": time.monotonic(), "from": name, "line": line[:400].decode("utf-8", "replace")})
        target.write(line)
        target.flush()
        log.write(note + "\n")
    target.close()


if __name__ == "__main__":
    log = open(sys.argv[1], "a", buffering=1)  # noqa: SIM115 (open for as long as the process lives)
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        down = threading.Thread(target=forward, args=(sys.stdin.buffer, agent.stdin, "client", log), daemon=True)
        down.start()
        forward(agent.stdout, sys.stdout.buffer, "agent", log)
