"""Outputs of a run, as other clients receive them: on the kernel's own IOPub channel.

Hooks into IPython do not do: those of the streams belong to one thread, and errors pass none. A run is recognized by a
mark in the parent header of its messages, which may be another cell's otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
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
LEFT = "left_out"
"""Member of a stream that is collected: how many characters of its middle are gone."""
LEFT_OUT = "\n… {} characters left out …\n"
TOO_MUCH = "\n(The rest of the output was not kept.)\n"

Message = Mapping[str, Any]

_KINDS = ("display_data", "execute_result", "error")


class Collector:
    """The outputs of one run, as a notebook would save them; of a long text, the beginning and the end."""

    def __init__(self) -> None:
        self._outputs: list[dict[str, Any]] = []
        self._ids: list[str | None] = []
        """Id by which each output may be updated."""
        self._clears = False
        self._left = MAX_RUN_CHARS
        self._is_full = False

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Outputs in their order."""
        return tuple(map(_marked, self._outputs))

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
            output_id = (content.get("transient") or {}).get("display_id")
            output = {"output_type": kind, **{k: v for k, v in content.items() if k != "transient"}}
            self._append(_bounded(output), output_id)

    def _stream(self, name: str, text: str) -> None:
        """What is left out of a long text makes room again."""
        self._clear()
        if self._is_full:
            return
        last = self._outputs[-1] if self._outputs else {}
        if last.get("output_type") != "stream" or last["name"] != name:
            self._append(last := {"output_type": "stream", "name": name, "text": "", LEFT: 0}, None)
        whole = last["text"] + text
        if (extra := len(whole) - 2 * HALF_CHARS) > HALF_CHARS:
            whole, last[LEFT] = whole[:HALF_CHARS] + whole[-HALF_CHARS:], last[LEFT] + extra
        if self._has_room(len(whole) - len(last["text"])):
            last["text"] = whole

    def _append(self, output: dict[str, Any], output_id: str | None) -> None:
        self._clear()
        size = sum(len(str(each)) for each in output.get("data", {}).values())
        if self._has_room(size):
            self._outputs.append(output)
            self._ids.append(output_id)

    def _update(self, content: Mapping[str, Any]) -> None:
        updated = content["transient"].get("display_id")
        for output, output_id in zip(self._outputs, self._ids, strict=True):
            if output_id == updated:
                output.update(_bounded({"data": content["data"], "metadata": content["metadata"]}))

    def _clear(self) -> None:
        if self._clears:
            self._clears = False
            self._outputs.clear()
            self._ids.clear()

    def _has_room(self, size: int) -> bool:
        """Errors, which have no data, are always kept."""
        self._left -= size
        if self._left < 0 and not self._is_full:
            self._is_full = True
            self._outputs.append({"output_type": "stream", "name": "stderr", "text": TOO_MUCH})
            self._ids.append(None)
        return self._left >= 0 or size == 0


def _marked(output: dict[str, Any]) -> dict[str, Any]:
    """An output as it is read: of the text of a stream, what was left out is counted."""
    rest = {name: value for name, value in output.items() if name != LEFT}
    return {**rest, "text": _halves(output["text"], output[LEFT])} if LEFT in output else rest


def _halves(text: str, left_out: int = 0) -> str:
    left_out += len(text) - 2 * HALF_CHARS
    return text if left_out <= 0 else f"{text[:HALF_CHARS]}{LEFT_OUT.format(left_out)}{text[-HALF_CHARS:]}"


def _bounded(output: dict[str, Any]) -> dict[str, Any]:
    """An output with the beginning and the end of each long text; an image that is too large alone is empty."""
    data = output.get("data")
    return output if data is None else {**output, "data": {kind: _fitting(kind, each) for kind, each in data.items()}}


def _fitting(kind: str, value: Any) -> Any:
    if isinstance(value, str) and not kind.startswith("image/"):
        return _halves(value)
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
