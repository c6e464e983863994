"""What real agents said, as recorded, message by message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from copilot_kernel.acp.calls import parse_permission
from copilot_kernel.acp.parse import parse_update
from copilot_kernel.conversation import reduce
from copilot_kernel.conversation.model import Conversation

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))


def played(path: Path) -> Iterator[tuple[Conversation, Conversation, int | None]]:
    """The conversation before and after each message of the agent, and the number of the call that it asks about."""
    now = Conversation(turn=1, live=True)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        message, params = row["message"], row["message"].get("params", {})
        if row["from"] == "agent" and message.get("method") == "session/update":
            before, now = now, reduce.reduce(now, parse_update(params.get("update")))
            yield before, now, None
        elif row["from"] == "agent" and message.get("method") == "session/request_permission":
            before = now
            now, number = reduce.ask(now, parse_permission(params).tool_call)
            yield before, now, number
