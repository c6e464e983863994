"""From the agent's bytes to the conversation, without a front end: long conversations, many chunks.

CPU time, since nothing here waits; the floor is `json.loads` of the same lines.
"""

from __future__ import annotations

import json
import time
from statistics import median
from typing import Any

from copilot_kernel.acp.chunk_line import read_chunk
from copilot_kernel.acp.connection import WireLog
from copilot_kernel.acp.handlers import ClientHandlers
from copilot_kernel.acp.jsonrpc import RpcCodec
from copilot_kernel.acp.messages import TextBlock
from copilot_kernel.acp.transport import PIECE_BYTES
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.turn import Stop
from copilot_kernel.conversation.model import Entry

from tests.chat.people import Person

from .report import Report

ENTRIES = CALLS = 50_000
CHUNKS = 100_000
ROUNDS = 7
SESSION = "1b5a6b3e-5a0a-4c33-9fd0-8f3b8f1b6d11"


def run(scale: float = 1.0) -> Report:
    """`scale` changes the numbers of entries, calls and chunks."""
    entries, calls, chunks = (max(1_000, round(number * scale)) for number in (ENTRIES, CALLS, CHUNKS))
    report = Report("core", "bytes to conversation, CPU time")
    long, none = growth(entries)
    report.add(f"a chunk after {entries:,} entries", long * 1e6, "µs")
    report.add("… ÷ after none", long / none, "×", 1.2)
    lines = [line(update) for number in range(calls) for update in tool_call(number)]
    report.add(f"{calls:,} tool calls", bytes_to_conversation(lines), "s", 3 * scale)
    report.add("… json.loads of the same lines", floor(lines), "s")
    lines = [line(chunk(f"word {number} and some more text of an answer. ")) for number in range(chunks)]
    ours, least = (min(measure(lines) for _ in range(ROUNDS)) for measure in (bytes_to_conversation, floor))
    report.add(f"{chunks:,} chunks ÷ json.loads of the same lines", ours / least, "×", 2.0)
    return report


def line(update: dict[str, Any]) -> bytes:
    """One line, as agents write it."""
    params = {"sessionId": SESSION, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def chunk(text: str) -> dict[str, Any]:
    """A piece of an answer."""
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def tool_call(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its two updates."""
    id, path = f"call_{number}", f"/project/src/file_{number}.py"
    begun = {"title": f"Read file_{number}.py", "kind": "read", "status": "pending", "rawInput": {"path": path}}
    result = [{"type": "content", "content": {"type": "text", "text": "x = 1\n"}}]
    ended = {"status": "completed", "content": result, "rawOutput": {"content": "x = 1\n"}}
    return (
        {"sessionUpdate": "tool_call", "toolCallId": id, **begun, "locations": [{"path": path}]},
        {"sessionUpdate": "tool_call_update", "toolCallId": id, **ended},
    )


class Newest(Person):
    """A view that remembers what was shown last."""

    def show(self, entry: Entry) -> None:
        self.entry = entry


def begun(view: Person | None = None) -> tuple[ConversationState, ClientHandlers]:
    """A conversation whose first turn is running, and what takes updates for it."""
    state = ConversationState()
    state.begin([TextBlock("Go")], view or Newest(), Stop())

    async def refuse(request: object) -> None:
        return None

    return state, ClientHandlers(lambda session_id, update: state.update(update), refuse)


def bytes_to_conversation(lines: list[bytes]) -> float:
    """Seconds for everything between the transport and the views."""
    (_, client), data = begun(), b"".join(lines)
    codec = RpcCodec(WireLog().add, read=read_chunk)
    start = time.process_time()
    for at in range(0, len(data), PIECE_BYTES):
        for event in codec.receive(data[at : at + PIECE_BYTES]):
            client.notify(event.method, event.params)  # type: ignore[union-attr]  # all are notifications
    return time.process_time() - start


def floor(lines: list[bytes]) -> float:
    start = time.process_time()
    for each in lines:
        json.loads(each)
    return time.process_time() - start


def growth(entries: int) -> tuple[float, float]:
    """Seconds for one chunk after `entries` tool calls, and after none: medians, measured in turns."""
    (_, long), (_, none) = begun(), begun()
    for number in range(entries):
        long.notify("session/update", {"sessionId": "s", "update": tool_call(number)[0]})
    timed = [(of_a_chunk(long), of_a_chunk(none)) for _ in range(ROUNDS)]
    return median(each[0] for each in timed), median(each[1] for each in timed)


def of_a_chunk(client: ClientHandlers, count: int = 200) -> float:
    params = {"sessionId": "s", "update": chunk("word 0 and some more text of an answer. ")}
    start = time.process_time()
    for _ in range(count):
        client.notify("session/update", params)
    return (time.process_time() - start) / count
