"""Play the session with the real Copilot CLI and keep its log: `python -m tests.store.record`.

What a machine or a day puts into it is replaced, and what only the program itself reads is shortened.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..real import namespace
from ..real.recorder import neutral

RECORDING = Path(__file__).with_name("data") / "events.jsonl"
LONGEST = 400
ITS_OWN = ("system.message", "session.usage", "session.shutdown", "model.", "session.mode_notice")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as folder:
        home = Path(folder)
        inside = [sys.executable, "-m", "tests.store.session"]
        done = namespace.run(inside, namespace.environment(home, home / "cache"), seconds=90)
        if done.returncode:
            print(done.stdout, done.stderr, sep="")
            return done.returncode
        lines = Path(done.stdout.strip()).read_text().splitlines()
        text = "".join(json.dumps(_kept(json.loads(line))) + "\n" for line in lines)
        RECORDING.write_text(neutral(text, {str(home / "project"): "/project", str(home): "/home/user"}))
    print(f"{RECORDING.name}: {len(lines)} events, {RECORDING.stat().st_size} bytes")
    return 0


def _kept(event: dict[str, Any]) -> dict[str, Any]:
    if event["type"].startswith(ITS_OWN):
        event["data"] = _shortened(event["data"])
    event["data"].pop("transformedContent", None)
    event["data"].pop("toolTelemetry", None)
    return event


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_shortened(member) for member in value[:3]]
    return value[:LONGEST] if isinstance(value, str) else value


if __name__ == "__main__":
    sys.exit(main())
