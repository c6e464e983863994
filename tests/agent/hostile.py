"""A hostile agent: at a prompt it makes every attempt of `attempts.py` and `network_attempts.py`.

It answers with what it got, as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.agent.attempts import ATTEMPTS
from tests.agent.network_attempts import NETWORK_ATTEMPTS
from tests.agent.steps import Place

MODES = {"currentModeId": "m", "availableModes": [{"id": "m", "name": "Mode"}]}
"""Else they are waited for."""
RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
    "session/new": {"sessionId": "hostile", "modes": MODES},
    "session/prompt": {"stopReason": "end_turn"},
}


def attempted(place: Place) -> dict[str, str]:
    """What each attempt returned, or the error that ended it."""
    results = {}
    for name, attempt in (ATTEMPTS | NETWORK_ATTEMPTS).items():
        try:
            results[name] = attempt(place) or ""
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"
    return results


def write(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    for request in map(json.loads, sys.stdin):
        if request.get("method") == "session/prompt":
            found = json.dumps(attempted(Place.read(Path(request["params"]["prompt"][0]["text"]))))
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": found}}
            write(method="session/update", params={"sessionId": "hostile", "update": update})
        if "id" in request and "method" in request:
            write(id=request["id"], result=RESULTS.get(request["method"], {}))
