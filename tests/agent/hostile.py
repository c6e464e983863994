"""A hostile agent: at a prompt it makes every attempt of `attempts.py` and `network_attempts.py`.

It answers with what it got, as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.agent.attempts import ATTEMPTS, Place
from tests.agent.network_attempts import NETWORK_ATTEMPTS


def attempted(place: Place) -> dict[str, str]:
    """What each attempt returned, or the error that ended it."""
    results = {}
    for name, attempt in (ATTEMPTS | NETWORK_ATTEMPTS).items():
        try:
            results[name] = attempt(place) or ""
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"
    return results


def answers(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        case "session/new":
            modes = {"currentModeId": "m", "availableModes": [{"id": "m", "name": "Mode"}]}  # else they are waited for
            return {"sessionId": "hostile", "modes": modes}
        case "session/prompt":
            content = {"type": "text", "text": json.dumps(attempted(Place.read(Path(params["prompt"][0]["text"]))))}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            write({"method": "session/update", "params": {"sessionId": "hostile", "update": update}})
            return {"stopReason": "end_turn"}
    return {}


def write(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            write({"id": message["id"], "result": answers(message["method"], message["params"])})


if __name__ == "__main__":
    main()
