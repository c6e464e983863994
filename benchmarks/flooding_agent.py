"""`python flooding_agent.py RATE SECONDS SESSIONS`: an agent that sends updates once as many turns run.

RATE updates a second in turn, each with the time at which it was written; those of the first session are long.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

SMALL, LONG = "", "x" * 65_536
STEP = 0.005
"""Seconds between two bursts."""


def _send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def _update(session: str) -> None:
    text = f"{time.monotonic():.6f} {LONG if session == '0' else SMALL}"
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    _send(method="session/update", params={"sessionId": session, "update": update})


def _flood(sessions: list[str], rate: float, seconds: float) -> int:
    """How many it could send."""
    began, sent = time.monotonic(), 0
    while (now := time.monotonic()) < began + seconds:
        while sent < (now - began) * rate:
            _update(sessions[sent % len(sessions)])
            sent += 1
        sys.stdout.flush()
        time.sleep(STEP)
    return sent


def main() -> None:
    """Serve until stdin ends."""
    rate, seconds, expected = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    opened, prompts = 0, {}
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                _send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                _send(id=message["id"], result={"sessionId": str(opened)})
                opened += 1
            case "session/prompt":
                prompts[message["params"]["sessionId"]] = message["id"]
        if len(prompts) == expected:
            sent, sessions = _flood(list(prompts), rate, seconds), len(prompts)
            for place, number in enumerate(prompts.values()):
                own = len(range(place, sent, sessions))
                _send(id=number, result={"stopReason": "end_turn", "_meta": {"sent": own, "of": sent}})
            prompts = {}
        sys.stdout.flush()


if __name__ == "__main__":
    main()
