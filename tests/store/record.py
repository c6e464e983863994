"""Play the session with the real Copilot CLI and keep its log: `python -m tests.store.record`.

What a machine or a day puts into it is replaced, and what only the program itself reads is shortened.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from ..real.agents import COPILOT
from ..real.plays import Play
from ..real.record import neutral

RECORDING = Path(__file__).with_name("data") / "events.jsonl"
LONGEST = 400
ITS_OWN = ("system.message", "session.usage", "session.shutdown", "model.", "session.mode_notice")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as folder:
        home = Path(folder)
        events = Play("store.session.play", COPILOT).perform(home, home / "cache")["events"]
        text = "".join(json.dumps(_kept(event)) + "\n" for event in events)
        RECORDING.write_text(neutral(text, {str(home / "project"): "/project", str(home): "/home/user"}))
    print(f"{RECORDING.name}: {len(events)} events, {RECORDING.stat().st_size} bytes")


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
    main()
