"""Outputs of a run, as other clients receive them: on the kernel's own IOPub channel.

Hooks into IPython do not do: those of the streams belong to one thread, and errors pass none. A run is recognized by a
mark in the parent header of its messages, which may be another cell's otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ..notebook.live import NotebookError, Output

MARK = "copilot_run"
"""The member of a parent header that names the run."""
END = "copilot_end"
"""The member of the metadata of a run's last message."""
WELCOME_SECONDS, WELCOME_TRIES = 0.5, 10
MAX_RUN_CHARS = 8_000_000
"""Limit of the outputs of a run; images are larger than texts."""
HALF_CHARS = 500_000
"""Limit of the beginning, and of the end, that are kept of a long text."""
LEFT_OUT = "\n… {} characters left out …\n"
TOO_MUCH = "\n({} outputs were not kept.)\n"

Message = Mapping[str, Any]

_KINDS = ("display_data", "execute_result", "error")


class LongText:
    """The beginning and the end of a text that grows."""

    def __init__(self, text: str = "") -> None:
        self._head, self._tail, self._before = "", deque[str](), 0
        self._length = 0
        self.add(text)

    def __len__(self) -> int:
        """As many characters as are kept."""
        return len(self._head) + self._length

    def add(self, text: str) -> None:
        """Append `text`."""
        room = HALF_CHARS - len(self._head)
        self._head += text[:room]
        if rest := text[room:]:
            self._tail.append(rest[-HALF_CHARS:])
            self._before += len(rest) - len(self._tail[-1])
            self._length += len(self._tail[-1])
        while self._length - len(self._tail[0] if self._tail else "") >= HALF_CHARS:
            dropped = len(self._tail.popleft())
            self._before, self._length = self._before + dropped, self._length - dropped

    def __str__(self) -> str:
        tail = "".join(self._tail)
        kept = tail[-HALF_CHARS:]
        left_out = self._before + len(tail) - len(kept)
        return self._head + (LEFT_OUT.format(left_out) if left_out else "") + kept


@dataclass(slots=True)
class _Kept:
    """An output. `text` is that of a stream, `id` that by which it may be updated."""

    output: dict[str, Any]
    id: str | None = None
    text: LongText | None = None

    @property
    def size(self) -> int:
        """Errors, which have no data, count nothing."""
        if self.text is not None:
            return len(self.text)
        return sum(len(str(each)) for each in self.output.get("data", {}).values())


class Collector:
    """The outputs of one run, as a notebook would save them; where they are too many, the first and the last."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._clears = False
        self._size = self._first = self._dropped = 0

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Outputs in their order."""
        outputs = [
            {**each.output, "text": str(each.text)} if each.text is not None else each.output for each in self._kept
        ]
        if self._dropped:
            outputs.insert(
                self._first, {"output_type": "stream", "name": "stderr", "text": TOO_MUCH.format(self._dropped)}
            )
        return tuple(outputs)

    def add(self, message: Message) -> None:
        """Apply one message; what is no output is ignored."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "clear_output":
            self._clears = True
            if not content["wait"]:
                self._clear()
        elif kind == "stream":
            self._stream(content["name"], content["text"])
        elif kind == "update_display_data":
            self._update(content)
        elif kind in _KINDS:
            output = {"output_type": kind, **{name: each for name, each in content.items() if name != "transient"}}
            self._append(_Kept(_bounded(output), (content.get("transient") or {}).get("display_id")))

    def _stream(self, name: str, text: str) -> None:
        self._clear()
        last = self._kept[-1] if self._kept else None
        if last is None or last.text is None or last.output["name"] != name:
            self._append(last := _Kept({"output_type": "stream", "name": name}, text=LongText()))
        assert last.text is not None
        self._size -= last.size
        last.text.add(text)
        self._size += last.size
        self._make_room()

    def _append(self, kept: _Kept) -> None:
        self._clear()
        self._kept.append(kept)
        self._size += kept.size
        self._make_room()

    def _update(self, content: Mapping[str, Any]) -> None:
        updated = content["transient"].get("display_id")
        for kept in self._kept:
            if kept.id == updated:
                self._size -= kept.size
                kept.output.update(_bounded({"data": content["data"], "metadata": content["metadata"]}))
                self._size += kept.size
        self._make_room()

    def _clear(self) -> None:
        if self._clears:
            self._clears = False
            self._kept.clear()
            self._size = self._first = self._dropped = 0

    def _make_room(self) -> None:
        """Drop the oldest outputs behind the first half, but no error."""
        if self._size <= MAX_RUN_CHARS // 2:
            self._first = len(self._kept)
        at = self._first
        while self._size > MAX_RUN_CHARS and at < len(self._kept) - 1:
            if size := self._kept[at].size:
                self._size -= size
                self._dropped += 1
                del self._kept[at]
            else:
                at += 1


def _bounded(output: dict[str, Any]) -> dict[str, Any]:
    """An output with the beginning and the end of each long text; what else is too large is empty."""
    data = output.get("data")
    return output if data is None else {**output, "data": {kind: _fitting(kind, each) for kind, each in data.items()}}


def _fitting(kind: str, value: Any) -> Any:
    if isinstance(value, str) and not kind.startswith("image/"):
        return str(LongText(value)) if len(value) > 2 * HALF_CHARS else value
    return value if len(str(value)) <= MAX_RUN_CHARS else ""


class RunOutputs:
    """Listens from the first run of a turn until `close`. All methods belong to the agent's loop."""

    def __init__(self) -> None:
        self._client: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._runs: dict[str, tuple[Collector, asyncio.Future[tuple[Output, ...]]]] = {}

    async def begin(self, run: str) -> asyncio.Future[tuple[Output, ...]]:
        """Listen for `run`; the future is done when it has ended. Raises NotebookError if they cannot be read."""
        await self._open()
        ended: asyncio.Future[tuple[Output, ...]] = asyncio.get_running_loop().create_future()
        self._runs[run] = Collector(), ended
        ended.add_done_callback(lambda _: self._runs.pop(run, None))
        return ended

    async def close(self) -> None:
        """Stop listening."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})
            self._reading = None
        if self._client is not None:
            self._client.stop_channels()
            self._client.context.destroy(linger=0)
            self._client = None

    async def _open(self) -> None:
        if self._reading is not None and not self._reading.done():
            return
        from ipykernel.connect import get_connection_info
        from jupyter_client.asynchronous.client import AsyncKernelClient

        try:
            info = get_connection_info(unpack=True)
        except Exception as error:
            raise NotebookError("The output of code cannot be read in this kernel.") from error
        self._client = AsyncKernelClient()
        self._client.load_connection_info(info)
        channel, ready = self._client.iopub_channel, asyncio.Event()
        self._reading = asyncio.create_task(self._read(channel, ready))
        # The kernel welcomes the first subscription to a topic only; other clients have subscribed to everything. It
        # may not notice a subscription that arrives while it sends: the next one makes it see both.
        for _ in range(WELCOME_TRIES):
            channel.socket.subscribe(uuid4().hex)
            with suppress(TimeoutError):
                await asyncio.wait_for(ready.wait(), WELCOME_SECONDS)
                return
        await self.close()
        raise NotebookError("The output of code cannot be read in this kernel.")

    async def _read(self, channel: Any, ready: asyncio.Event) -> None:
        while True:
            with suppress(ValueError):  # a message that is not signed
                message = await channel.get_msg(timeout=None)
                if message["header"]["msg_type"] == "iopub_welcome":
                    ready.set()
                self._receive(message)

    def _receive(self, message: Message) -> None:
        collector, ended = self._runs.get(message["parent_header"].get(MARK), (None, None))
        if collector is None or ended is None:
            return
        if message["metadata"].get(END):
            if not ended.done():
                ended.set_result(tuple(collector.outputs))
        else:
            collector.add(message)
