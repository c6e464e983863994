"""From the agent's bytes to the conversation, without a front end: long conversations, many chunks, huge lines.

The floor is `json.loads` of the same lines; the peer is the official Python SDK, from the parsed lines to its typed
values (it has no conversation). Processor time, since nothing here waits.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from itertools import chain, islice, repeat
from statistics import median
from subprocess import run as run_process
from typing import Any

import anyio
from acp.client.connection import ClientSideConnection
from anyio.lowlevel import checkpoint
from copilot_kernel.acp.chunk_line import read_chunk
from copilot_kernel.acp.connection import RpcConnection, WireLog
from copilot_kernel.acp.elicitation import Elicitation, ElicitationAnswer
from copilot_kernel.acp.handlers import ClientHandlers
from copilot_kernel.acp.jsonrpc import RpcCodec
from copilot_kernel.acp.messages import TextBlock, Update
from copilot_kernel.acp.transport import PIECE_BYTES
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.turn import Stop
from copilot_kernel.conversation.model import Entry
from copilot_kernel.permissions.question import PermissionAnswer, Question

from .report import Report

ENTRIES = CALLS = 50_000
CHUNKS = 100_000
PEER_CHUNKS = 10_000
ROUNDS = 7
MB = 1_000_000
MAX_QUICK = 10 * MB
HUGE = {"message": 5 * MB, "diff": 5 * MB, "chunk": 50 * MB}
LINE_OF_CODE = "    print('äöü', value)  # another line\n"


def run(scale: float = 1.0) -> Report:
    """`scale` changes the numbers of entries, calls and chunks, not the sizes of huge lines."""
    entries, calls, chunks = (max(1_000, round(number * scale)) for number in (ENTRIES, CALLS, CHUNKS))
    report = Report("core", "bytes to conversation, processor time")
    for what, size in HUGE.items():  # first, since a process begins with its parent's peak of memory
        add_huge(report, what, size)
    long, none = growth(entries)
    report.add("a chunk after no entry", none * 1e6, "µs")
    report.add(f"a chunk after {entries:,} entries", long * 1e6, "µs")
    report.add("ratio", long / none, "×", bound=1.2)
    lines = [line(update) for update in islice(tool_calls(), 2 * calls)]
    report.add(f"{calls:,} tool calls", bytes_to_conversation(lines), "s", bound=3 * scale)
    report.add("json.loads of the same lines", floor(lines), "s")
    lines = [line(chunk(number)) for number in range(chunks)]
    ours, least = (min(measure(lines) for _ in range(ROUNDS)) for measure in (bytes_to_conversation, floor))
    report.add(f"{chunks:,} chunks, best of {ROUNDS}", ours, "s")
    report.add("json.loads of the same lines", least, "s")
    report.add("ratio", ours / least, "×", bound=2.0)
    share = len(lines[:PEER_CHUNKS]) / len(lines)
    report.add("ratio of the official SDK: lines → typed values", peer(lines[:PEER_CHUNKS]) / (least * share), "×")
    return report


def add_huge(report: Report, what: str, size: int) -> None:
    """In a process of its own, for its memory."""
    done = run_process([sys.executable, "-m", __name__, what, str(size)], capture_output=True, check=True, timeout=300)
    figures = json.loads(done.stdout)
    name = f"one {what} of {size // MB} MB"
    if size > MAX_QUICK:  # no parser reads it within 50 ms, and none lets others run meanwhile
        report.add(f"{name}: longest piece of work ÷ json.loads", figures["longest"] / figures["floor"], "×", bound=1.5)
    report.add(f"{name}: longest piece of work", figures["longest"] * 1000, "ms", 50 if size <= MAX_QUICK else None)
    report.add(f"{name}: bytes → conversation", figures["seconds"], "s", bound=5)
    report.add(f"{name}: peak memory of the process", figures["memory"], "MB", bound=250)


# -- what the agent sends ---------------------------------------------------------------------------------------------


def line(update: dict[str, Any]) -> bytes:
    """One line, as agents write it."""
    params = {"sessionId": "1b5a6b3e-5a0a-4c33-9fd0-8f3b8f1b6d11", "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def chunk(number: int, text: str = "") -> dict[str, Any]:
    text = text or f"word {number} and some more text of an answer. "
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def tool_calls() -> Iterator[dict[str, Any]]:
    """Two updates for each call."""
    number = 0
    while True:
        number += 1
        id, path = f"call_{number}", f"/project/src/file_{number}.py"
        yield {
            "sessionUpdate": "tool_call",
            "toolCallId": id,
            "title": f"Read file_{number}.py",
            "kind": "read",
            "status": "pending",
            "rawInput": {"path": path},
            "locations": [{"path": path}],
        }
        yield {
            "sessionUpdate": "tool_call_update",
            "toolCallId": id,
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "x = 1\n"}}],
            "rawOutput": {"content": "x = 1\n"},
        }


def huge(what: str, size: int) -> Iterator[bytes]:
    """One line in pieces, so that it is in memory only once it has arrived."""
    if what == "diff":
        diff = {"type": "diff", "path": "/project/a.py", "oldText": None, "newText": "TEXT"}
        update = {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Edit", "kind": "edit", "content": [diff]}
    else:
        update = chunk(0, "TEXT")
    head, tail = line(update).split(b"TEXT")
    code = json.dumps(LINE_OF_CODE, ensure_ascii=False)[1:-1].encode()
    piece = code * (PIECE_BYTES // len(code))
    yield from chain((head,), repeat(piece, size // len(piece)), (tail,))


# -- what becomes of it -----------------------------------------------------------------------------------------------


class Newest:
    """A view that remembers what was shown last."""

    def show(self, entry: Entry) -> None:
        self.entry = entry

    def status(self, words: str) -> None: ...

    async def ask(self, question: Question) -> PermissionAnswer:
        raise NotImplementedError

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        raise NotImplementedError


def begun() -> ConversationState:
    """A conversation whose first turn is running."""
    state = ConversationState()
    state.begin([TextBlock("Go")], Newest(), Stop())
    return state


def handlers(state: ConversationState) -> ClientHandlers:
    def update(session_id: str, update: Update) -> None:
        state.update(update)

    async def refuse(request: object) -> None:
        return None

    return ClientHandlers(update, refuse)


def bytes_to_conversation(lines: list[bytes]) -> float:
    """Seconds for everything between the transport and the views."""
    state, data = begun(), b"".join(lines)
    notify, codec = handlers(state).notify, RpcCodec(WireLog().add, read=read_chunk)
    start = time.process_time()
    for at in range(0, len(data), PIECE_BYTES):
        for event in codec.receive(data[at : at + PIECE_BYTES]):
            notify(event.method, event.params)  # type: ignore[union-attr]  # all are notifications
    return time.process_time() - start


def floor(lines: list[bytes]) -> float:
    start = time.process_time()
    for each in lines:
        json.loads(each)
    return time.process_time() - start


def growth(entries: int) -> tuple[float, float]:
    """Seconds for one chunk after `entries` tool calls, and after none: medians, measured in turns."""
    long, none = begun(), begun()
    grow = handlers(long).notify
    for update in islice(tool_calls(), 0, 2 * entries, 2):
        grow("session/update", {"sessionId": "s", "update": update})
    timed = [(of_a_chunk(long), of_a_chunk(none)) for _ in range(ROUNDS)]
    return median(each[0] for each in timed), median(each[1] for each in timed)


def of_a_chunk(state: ConversationState, count: int = 200) -> float:
    notify, params = handlers(state).notify, {"sessionId": "s", "update": chunk(0)}
    start = time.process_time()
    for _ in range(count):
        notify("session/update", params)
    return (time.process_time() - start) / count


def peer(lines: list[bytes]) -> float:
    """Seconds of the official SDK, which gets the lines parsed."""

    class Lines:
        def __init__(self) -> None:
            self.rest = iter(lines)

        async def receive(self) -> Any:
            await checkpoint()
            return next((json.loads(each) for each in self.rest), None)

        async def send(self, message: Any) -> None: ...
        async def close(self) -> None: ...

    class Client:
        count = 0

        async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
            self.count += 1

    async def main() -> float:
        client: Any = Client()  # no more of it is called
        start = time.process_time()
        connection = ClientSideConnection(client, Lines())
        with anyio.fail_after(300):
            while client.count < len(lines):
                await checkpoint()
        seconds = time.process_time() - start
        await connection.close()
        return seconds

    return anyio.run(main)


# -- huge lines -------------------------------------------------------------------------------------------------------


class Pieces:
    """A transport that never waits."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    async def receive(self) -> bytes:
        return next(self._pieces, b"")

    async def send(self, data: bytes) -> None: ...
    async def close(self) -> None: ...


async def measure_huge(what: str, size: int) -> dict[str, float]:
    state, longest = begun(), 0.0
    client, transport = handlers(state), Pieces(huge(what, size))
    start = last = time.process_time()
    async with RpcConnection(
        transport, on_notification=client.notify, on_request=client.serve, read=read_chunk
    ) as connection:
        while not connection.closed.is_set():
            await checkpoint()
            now = time.process_time()
            longest, last = max(longest, now - last), now
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(state.conversation.entries) == 2  # the prompt, and what came
    least = floor([b"".join(huge(what, size))])
    return {"longest": longest, "floor": least, "seconds": last - start, "memory": memory / 1024}


if __name__ == "__main__":
    print(json.dumps(anyio.run(measure_huge, sys.argv[1], int(sys.argv[2]))))
