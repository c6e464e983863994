"""An agent that costs next to nothing: it plays back what was recorded before, in large pieces.

`python recorded_agent.py FOLDER`. A prompt is `NAME [RATE]`: the lines of the file NAME in FOLDER are sent, all at once
or RATE a second. Loading a session plays back the file of that name.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import IO, Any

PIECE_BYTES = 1 << 16


def main() -> None:
    """Answers in the order of the requests."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": _answer(request["method"], request["params"])}
            _write(json.dumps(answer).encode() + b"\n")


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": []}
        case "session/new":
            return {"sessionId": "recorded", "configOptions": []}
        case "session/load":
            _play(params["sessionId"])
            return {"configOptions": []}
        case "session/prompt":
            _play(*params["prompt"][0]["text"].split())
            return {"stopReason": "end_turn"}
    return {}


def _play(name: str, rate: str = "") -> None:
    with (Path(sys.argv[1]) / name).open("rb") as recording:
        if rate:
            _play_slowly(recording, int(rate))
        else:
            while piece := recording.read(PIECE_BYTES):
                _write(piece)


def _play_slowly(recording: IO[bytes], rate: int) -> None:
    began = time.monotonic()
    for number, line in enumerate(recording):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        _write(line)


def _write(piece: bytes) -> None:
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
